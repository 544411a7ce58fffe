"""Addresses of a level's code in what the level runs when it is loaded: which of them code outside could keep."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from ..binary.pointing import Reference
from ..model.names import level_of_section
from ..processors.decoding import CALL, DIRECT, INDIRECT, INDIRECT_CALL, RETURN, How
from .references import RUN, WORD
from .subject import Subject
from .values import Entry, Step, Value, Values


@dataclass(frozen=True)
class Leak:
    """An address that code hands out: the instruction's `place`, and what it hands out, in words."""

    place: int
    what: str


class Handed:
    """The addresses of a level's code that functions of the level hand out.

    Calling such an address is no leak, nor is handing it to a function in `RUN`, which runs it, or to one of the
    level, which is judged itself. The address of a constant that holds addresses of code may be stored in a variable
    that no other source knows.
    """

    def __init__(self, subject: Subject) -> None:
        self._subject = subject
        self._code = subject.code
        self._references = subject.references
        self.filled: set[int] = set()  # variables that such addresses are stored in

    def leaks(self, number: int, values: Values) -> Iterator[Leak]:
        """Yield what a function hands out.

        A variable that it fills with such addresses counts from then on as data that holds them.
        """
        stored: set[Value] = set()
        for step in values.steps:
            flow = step.instruction.flow_control
            if flow in DIRECT or flow in INDIRECT:
                yield from self._passed(number, step, values)
            elif flow == RETURN:
                yield from self._returned(step, stored)
            elif not step.effect.compares:
                yield from self._formed(step, values)
                yield from self._used(step, values, stored)

    # ---- what an instruction does with an address

    def _formed(self, step: Step, values: Values) -> Iterator[Leak]:
        """Yield addresses that an instruction takes, but not into a register that is followed."""
        effect, place = step.effect, step.effect.place
        if effect.how == How.OTHER and self._is_secret(number := self._references.number(step.instruction, effect)):
            yield Leak(step.instruction.ip, self._shown(number))
        address = values.base(step)
        section = self._code.binary.section_at(address) if address else None
        if place is None or section is None or section.executable:
            return
        if effect.how == How.ADDRESS:
            # An address inside a table, at an unknown place.
            if place.index and self._is_table(address):
                yield Leak(step.instruction.ip, self._shown(address))
        elif place.read and place.size >= WORD and (effect.how == How.OTHER or not section.constant):
            held = self._held(address, 0 if place.index else place.size)
            if held:
                yield Leak(step.instruction.ip, f"{self._shown(held[0])}, out of {self._named(address)}")

    def _passed(self, number: int, step: Step, values: Values) -> Iterator[Leak]:
        """Yield addresses that a call, or a jump out of the function, hands over."""
        target, name = self._references.called(step.instruction)
        targets: frozenset[Value] = frozenset({target or name})
        if step.instruction.flow_control in INDIRECT:
            targets = values.targets(step)
        if step.instruction.flow_control not in (CALL, INDIRECT_CALL) and all(
            isinstance(one, int) and self._code.covers(number, one) for one in targets
        ):
            return
        if self.runs(step, values) or all(isinstance(one, int) and one and self._is_code(one) for one in targets):
            return  # what runs then is judged with what it is given
        for register in self._code.decoder.arguments:
            for value in self._secrets(step, register):
                names = (
                    self._code.name(self._code.entry(one)) if isinstance(one, int) and one else one for one in targets
                )
                yield Leak(step.instruction.ip, f"{self._shown(value)}, to {next(filter(None, names), 'a function')}")

    def runs(self, step: Step, values: Values) -> str:
        """Return the name out of `RUN` of the function that a call leads to; "" if it is none, or one of a level."""
        target, name = self._references.called(step.instruction)
        if step.instruction.flow_control in INDIRECT and not target:
            targets = values.targets(step)
            name = next((one for one in targets if isinstance(one, str)), "") if len(targets) == 1 else ""
        return name if name in RUN and not (target and self._is_code(target)) else ""

    def _returned(self, step: Step, stored: set[Value]) -> Iterator[Leak]:
        for value in self._secrets(step, self._code.decoder.result):
            if value not in stored:  # a function without a result leaves there what it stored last
                yield Leak(step.instruction.ip, f"{self._shown(value)}, to its caller")

    def _used(self, step: Step, values: Values, stored: set[Value]) -> Iterator[Leak]:
        """Yield addresses that an instruction stores, or computes with."""
        effect = step.effect
        if effect.how == How.COPY or (effect.how == How.ADD and not effect.source):
            return  # into a register that is followed
        for register in effect.reads:
            for value in self._secrets(step, register):
                if effect.place is not None and effect.place.written and isinstance(value, int):
                    variable = values.address(step)
                    if not self._is_code(value) and self._is_own(variable):
                        stored.add(value)
                        self.filled.add(self._start(variable))
                        continue
                yield Leak(step.instruction.ip, self._shown(value))

    # ---- what an address is

    def _secrets(self, step: Step, register: int) -> list[int]:
        """Return the addresses in a register that are not to be handed out."""
        held = (value.table if isinstance(value, Entry) else value for value in step.values(register))
        return sorted({value for value in held if isinstance(value, int) and self._is_secret(value)})

    def _is_secret(self, address: int) -> bool:
        """Return whether an address is one of a level's code, or of data that holds some."""
        if not address:
            return False
        return self._is_code(address) or self._is_table(address)

    def _is_code(self, address: int) -> bool:
        section = self._code.binary.section_at(address)
        if section is None or not section.executable:
            return False
        return bool(level_of_section(section.name) or self._subject.level)

    def _is_table(self, address: int) -> bool:
        if self._code.functions.is_code(address):
            return False
        if self.filled and self._start(address) in self.filled:
            return True
        return bool(self._held(address, 0))

    def _held(self, address: int, size: int) -> list[int]:
        """Return the addresses of a level's code in `size` bytes of data, or, if that is 0, in a whole variable."""
        if size:
            start, end = address, address + size
        else:
            start, end = self._code.variables.extent(address) or (address, address + WORD)
        if not self._code.binary.relocatable:
            places = self._places
            return [
                places[one] for one in self._sorted[bisect_left(self._sorted, start) : bisect_left(self._sorted, end)]
            ]
        section = self._code.binary.section_at(address)
        found = self._code.pointers.references(section) if section is not None and not section.executable else ()
        first = bisect_left(found, start, key=_address)
        between = found[first : bisect_left(found, end, key=_address)]
        targets = (self._code.pointers.target(one) for one in between if self._code.pointers.is_absolute(one))
        return [target for target in targets if target and self._is_code(target)]

    @cached_property
    def _places(self) -> dict[int, int]:
        """The pointers to levels' code in the data of a linked file: the address that each leads to, by its own."""
        return {place: target for place, target in self._references.stored.items() if self._is_code(target)}

    @cached_property
    def _sorted(self) -> list[int]:
        return sorted(self._places)

    def _start(self, address: int) -> int:
        extent = self._code.variables.extent(address)
        return extent[0] if extent else address

    def _is_own(self, address: int) -> bool:
        """Return whether only the source that defines a variable knows its name; a stripped file does not tell."""
        section = self._code.binary.section_at(address) if address else None
        if section is None or not section.writable:
            return False
        symbol = self._code.variables.symbol_at(address)
        return symbol.own if symbol is not None else self._code.binary.stripped

    def _named(self, address: int) -> str:
        return self._code.variables.name_at(address) or f"data at {address:#x}"

    def _shown(self, address: int) -> str:
        if self._is_code(address):
            return f"the address of {self._code.name(self._code.entry(address))}"
        return f"the address of {self._named(address)}, which holds addresses of code"


def _address(reference: Reference) -> int:
    return reference.address
