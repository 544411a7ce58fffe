"""The pointers of an ELF file that code is called through: tables of the linker, and arrays that the loader walks."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from functools import cached_property

from ..protocol import Relocation, RelocationTypes, Section, SymbolKind, within
from . import layout as e
from .data_pointers import stored_pointers
from .reader import Elf
from .relocations import relocations, word_at

# Sections of pointers to functions that the loader calls, by their names and types; and the tags by which .dynamic says
# their address and size.
WHEN_LOADED, AT_EXIT = "when loaded", "at exit"
ARRAYS = {
    WHEN_LOADED: ((".preinit_array", ".init_array", ".ctors"), (e.SHT_PREINIT_ARRAY, e.SHT_INIT_ARRAY)),
    AT_EXIT: ((".fini_array", ".dtors"), (e.SHT_FINI_ARRAY,)),
}
DYNAMIC_ARRAYS = {WHEN_LOADED: ((25, 27), (32, 33)), AT_EXIT: ((26, 28),)}
DYNAMIC_FUNCTIONS = {WHEN_LOADED: 12, AT_EXIT: 13}  # DT_INIT, DT_FINI
JUMPS = (".plt", ".iplt")
# Tables that say where code is, for unwinding the stack; no code is called through them.
DESCRIPTIONS = (".eh_frame", ".gcc_except_table")
NO_FUNCTION = (0, (1 << 64) - 1)  # ends or starts an array


class ElfPointers:
    """The pointers of an ELF file (`isagen.binary.protocol.Pointers`); `kinds` are its processor's relocation types."""

    def __init__(self, elf: Elf, kinds: RelocationTypes) -> None:
        self.elf = elf
        self._kinds = kinds

    @cached_property
    def _dynamic(self) -> dict[int, int]:
        """The values in .dynamic by tag, the first of each."""
        section = next((s for s in self.elf.sections if s.type == e.SHT_DYNAMIC), None)
        found: dict[int, int] = {}
        if section is not None:
            content = self.elf.content(section)
            form = self.elf.layout.dynamic
            for tag, value in form.iter_unpack(content[: len(content) // form.size * form.size]):
                found.setdefault(tag, value)
        return found

    @cached_property
    def _arrays(self) -> tuple[tuple[int, int, str], ...]:
        """(Address, size, when its functions run) of arrays of functions in a linked file."""
        found = []
        for when, (names, types) in ARRAYS.items():
            for section in self.elf.sections:
                if section.in_file and (section.type in types or section.name.startswith(names)):
                    found.append((section.address, section.size, when))
            for place, size in DYNAMIC_ARRAYS[when]:
                start = self._dynamic.get(place, 0)
                there = self.elf.section_at(start)
                if start and there is not None and there.in_file:
                    found.append((start, min(self._dynamic.get(size, 0), there.size), when))
        return tuple(dict.fromkeys(found))

    @cached_property
    def arrays(self) -> list[tuple[int, int]]:
        """Where arrays of functions that the loader calls are, in the form of `spans`."""
        return sorted({(start, start + size) for start, size, _ in self._arrays})

    @cached_property
    def spans(self) -> list[tuple[int, int]]:
        spans = list(self.arrays)
        spans += [(s.address, s.address + s.size) for s in self.elf.sections if s.in_file and s.name.startswith(".got")]
        return sorted(spans)

    @cached_property
    def jumps(self) -> list[tuple[int, int]]:
        return sorted(
            (s.address, s.address + s.size) for s in self.elf.sections if s.in_file and s.name.startswith(JUMPS)
        )

    def _is_slot(self, address: int) -> bool:
        return within(self.spans, address)

    @cached_property
    def _slots(self) -> dict[int, tuple[str, int]]:
        """The pointers that the loader fills in: by their address, (how, address or symbol's number)."""
        found: dict[int, tuple[str, int]] = {}
        for section in self.elf.sections:
            if section.type not in e.RELOCATION_SECTIONS or not section.flags & e.SHF_ALLOC:
                continue
            for offset, kind, symbol, addend in relocations(self.elf, section):
                if kind == self._kinds.resolved:
                    found[offset] = ("resolver", addend)
                elif kind == self._kinds.rebased and self._is_slot(offset):
                    found[offset] = ("address", addend)
                elif kind in self._kinds.slot and self._is_slot(offset):
                    found[offset] = ("symbol", symbol)
        return found

    @cached_property
    def resolvers(self) -> tuple[int, ...]:
        found = [address for how, address in self._slots.values() if how == "resolver"]
        for table in {self.elf.symbol_table, self.elf.dynamic_table}:
            found += [s.address for s in self.elf.symbols_of(table) if s.kind == SymbolKind.RESOLVER and s.defined]
        return tuple(sorted(set(found)))

    def follow(self, slot: int) -> int:
        """Return the address of the code that the pointer in `slot` leads to; 0 if it is in no place of this file.

        A pointer that no relocation of its own is for is as it was linked: in programs at fixed addresses, and in those
        whose relocations are packed (.relr.dyn), which change pointers where they stand.
        """
        how, value = self._slots.get(slot, ("none", 0))
        if how == "address":
            return value
        if how == "symbol" and self.elf.dynamic_table is not None:
            symbol = self.elf.symbol_of(self.elf.dynamic_table, value)
            return symbol.address if symbol.defined and symbol.kind != SymbolKind.RESOLVER else 0
        return word_at(self.elf, slot) if how == "none" and self._is_slot(slot) else 0

    def name(self, slot: int) -> str:
        how, value = self._slots.get(slot, ("none", 0))
        table = self.elf.dynamic_table
        return self.elf.name(self.elf.symbol_of(table, value)) if how == "symbol" and table is not None else ""

    def is_null(self, slot: int) -> bool:
        return slot not in self._slots and self._is_slot(slot) and not word_at(self.elf, slot)

    def is_resolved(self, slot: int) -> bool:
        return self._slots.get(slot, ("none", 0))[0] == "resolver"

    def called_by_loader(self) -> Iterator[tuple[int, str]]:
        for address in self.resolvers:
            yield address, f"{WHEN_LOADED}, as an ifunc resolver"
        if self.elf.relocatable:
            yield from self._of_object()
            return
        word = self.elf.layout.word
        for address, size, when in self._arrays:
            for slot in range(address, address + size - word + 1, word):
                target = self.follow(slot)
                if target not in NO_FUNCTION:
                    yield target, when
        for when, tag in DYNAMIC_FUNCTIONS.items():
            if self._dynamic.get(tag):
                yield self._dynamic[tag], when
        for section in self.elf.sections:
            if section.name in (".init", ".fini") and section.executable:
                yield section.address, WHEN_LOADED if section.name == ".init" else AT_EXIT

    def _of_object(self) -> Iterator[tuple[int, str]]:
        for section in self.elf.sections:
            for when, (names, types) in ARRAYS.items():
                if section.type in types or section.name.startswith(names):
                    for reference in self.relocations_of(section):
                        yield self.target(reference), when

    def in_data(self) -> Iterator[tuple[int, int]]:
        if not self.elf.relocatable:
            yield from stored_pointers(self.elf, self._kinds)
            return
        for section in self.elf.sections:
            if section.in_file and not section.executable and not section.name.startswith(DESCRIPTIONS):
                for reference in self.relocations_of(section):
                    if reference.kind in self._kinds.absolute and (target := self.target(reference)):
                        yield reference.address, target

    # In an object, whose pointers are not known yet.

    @cached_property
    def _references(self) -> dict[int, list[Relocation]]:
        """By the number of a section, its relocations, in order."""
        found: dict[int, list[Relocation]] = {}
        for section in self.elf.sections:
            if section.type not in e.RELOCATION_SECTIONS or section.info >= len(self.elf.sections):
                continue
            place = self.elf.sections[section.info]
            if place.flags & e.SHF_ALLOC:
                found.setdefault(place.index, []).extend(
                    Relocation(
                        place.address + offset, kind, section.link, symbol, addend, kind in self._kinds.through_slot
                    )
                    for offset, kind, symbol, addend in relocations(self.elf, section)
                )
        for listed in found.values():
            listed.sort(key=lambda reference: reference.address)
        return found

    def relocations_of(self, section: Section) -> list[Relocation]:
        return self._references.get(section.index, [])

    def relocation(self, section: Section, start: int, end: int) -> Relocation | None:
        listed = self.relocations_of(section)
        place = bisect_right(listed, start - 1, key=lambda reference: reference.address)
        return listed[place] if place < len(listed) and listed[place].address < end else None

    def target(self, relocation: Relocation, after: int = 0) -> int:
        symbol = self.elf.symbol_of(self.elf.sections[relocation.table], relocation.symbol)
        if not symbol.defined:
            return 0
        if relocation.kind in self._kinds.relative:
            return symbol.address + relocation.addend + (after - relocation.address if after else 0)
        return symbol.address + relocation.addend if relocation.kind in self._kinds.absolute else 0

    def operand(self, relocation: Relocation, after: int) -> int:
        """Return the address that the relocation of an instruction is for, as `target` does.

        Where that is before or after the section of its symbol, it is the symbol's: no address of an object is known
        there.
        """
        target = self.target(relocation, after)
        symbol = self.elf.symbol_of(self.elf.sections[relocation.table], relocation.symbol)
        section = self.elf.section_at(target) if target else None
        return target if section is not None and section.index == symbol.section else symbol.address

    def target_name(self, relocation: Relocation) -> str:
        return self.elf.name(self.elf.symbol_of(self.elf.sections[relocation.table], relocation.symbol))


class LoadedElf(Elf):
    """An ELF file whose pointers are read too (`isagen.binary.protocol.Binary`)."""

    def pointers(self, kinds: RelocationTypes) -> ElfPointers:
        for section in self.sections:
            if section.type == e.SHT_CREL:  # sealing passes them on as they are
                raise self.fail(f"section {section.name} holds relocations in a form that is not read (CREL)")
        return ElfPointers(self, kinds)
