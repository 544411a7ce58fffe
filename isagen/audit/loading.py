"""The values that instructions load: pointers of the linker, constants, entries of tables, and addresses."""

from __future__ import annotations

from ..processors.decoding import Instruction, Loaded, Place
from .references import WORD, References
from .states import ANY, HALF, NULL, UNKNOWN, Entry, Frame, State, Value


class Loading:
    """What instructions load from memory, and the addresses of their operands there."""

    def __init__(self, references: References) -> None:
        self._references = references
        self._code = references.code

    def load(self, instruction: Instruction, place: Place, state: State) -> Value:
        """Return what is loaded from memory."""
        references = self._references
        if place.relative and place.size == WORD:
            if references.is_null(instruction):
                return NULL
            target = (
                references.pointed(instruction) if self._is_move(instruction) else references.called(instruction)[0]
            )
            if target or (name := self.named(instruction)):
                return target or name
        address = self.operand(instruction, place, state)
        if not address:
            return UNKNOWN
        section = self._code.binary.section_at(address)
        if section is None or not section.constant:
            return UNKNOWN
        if place.index:
            return Entry(address, place.size) if place.size in (WORD, HALF) else UNKNOWN
        return references.stored_at(address) if place.size == WORD else UNKNOWN

    def _is_move(self, instruction: Instruction) -> bool:
        return self._code.decoder.loaded(instruction)[0] != Loaded.NOTHING

    def operand(self, instruction: Instruction, place: Place, state: State) -> int:
        """Return the address of an operand in memory, apart from an index; 0 if it is unknown."""
        if place.relative or not place.base:
            return self._references.operand(instruction, place)
        # Of base and index, either may be the one that points to a table.
        for one, other in ((place.base, place.index), (place.index, place.base)):
            held = state.get(one, ANY) if one else ANY
            if len(held) == 1 and isinstance(value := next(iter(held)), int) and value and one != other:
                moved = self.moved(value, place.offset)
                return moved if isinstance(moved, int) else 0
        return 0

    def moved(self, value: Value, offset: int) -> Value:
        """Return a value with a number added: an address, where that is in the same section."""
        if isinstance(value, Frame):
            return Frame(value.offset + offset, value.lent)
        if not isinstance(value, int) or not value:
            return UNKNOWN
        section_at = self._code.binary.section_at
        section = section_at(value + offset)
        return value + offset if section is not None and section is section_at(value) else UNKNOWN

    def referred(self, instruction: Instruction) -> bool:
        """Return whether the linker has yet to say what a number in an instruction is."""
        return self._code.binary.relocatable and self._code.reference(instruction) is not None

    def named(self, instruction: Instruction) -> Value:
        """Return the name of the external symbol that an instruction refers to; UNKNOWN if there is none."""
        return self._references.external(instruction) or UNKNOWN
