"""Addresses that are not to leave a level: of its code, and of data that holds addresses of it."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from functools import cached_property

from ..model.names import level_of_section
from .demangle import demangle
from .references import WORD
from .states import Entry, Step, Value
from .subject import Subject


class Secrets:
    """The addresses of levels' code in a binary, and of the data that holds them, itself or through other data."""

    def __init__(self, subject: Subject) -> None:
        self._subject = subject
        self._code = subject.code
        self._references = subject.references
        self.filled: set[int] = set()  # variables that such addresses are stored in, by their addresses

    def of(self, step: Step, register: int) -> list[int]:
        """Return the addresses in a register that are not to be handed out."""
        return self.among(step.values(register))

    def among(self, values: Iterable[Value]) -> list[int]:
        """Return the addresses among values that are not to be handed out."""
        held = (value.table if isinstance(value, Entry) else value for value in values)
        return sorted({value for value in held if isinstance(value, int) and self.is_secret(value)})

    def is_secret(self, address: int) -> bool:
        """Return whether an address is one of a level's code, or of data that holds some."""
        if not address:
            return False
        return self.is_code(address) or self.is_table(address)

    def is_code(self, address: int) -> bool:
        """Return whether an address is one of a level's code."""
        section = self._code.binary.section_at(address)
        if section is None or not section.executable:
            return False
        return bool(level_of_section(section.name) or self._subject.level)

    def is_table(self, address: int) -> bool:
        """Return whether an address is one of data that holds secret addresses."""
        if self._code.functions.is_code(address):
            return False
        if self.filled and self.start(address) in self.filled:
            return True
        return bool(self.held(address, 0))

    def held(self, address: int, size: int) -> list[int]:
        """Return the secret addresses in `size` bytes of data, or, if that is 0, in a whole variable."""
        start, end = (address, address + size) if size else self._extent(address)
        return [self._places[place] for place in _between(self._sorted, start, end)]

    @cached_property
    def _places(self) -> dict[int, int]:
        """The pointers in data that lead to code of a level, or to data that holds such a pointer, by their place."""
        found: dict[int, int] = {}
        others: dict[int, int] = {}
        for place, target in self._references.stored.items():
            (found if self.is_code(target) else others)[place] = target
        new = bool(found)
        while new:
            known = sorted(found)
            more = {place: to for place, to in others.items() if _between(known, *self._extent(to))}
            found |= more
            others = {place: to for place, to in others.items() if place not in more}
            new = bool(more)
        return found

    @cached_property
    def _sorted(self) -> list[int]:
        return sorted(self._places)

    def _extent(self, address: int) -> tuple[int, int]:
        """Return the first address of the data at an address, and the one after its last.

        Where no symbol tells a size, data that is relocated goes on until the next symbol.
        """
        symbol = self._code.variables.symbol_at(address)
        if symbol is not None and symbol.size:
            return symbol.address, symbol.address + symbol.size
        section = self._code.binary.section_at(address)
        if section is None:
            return address, address
        end = section.address + section.size
        if section.writable:
            return address, min(end, self._code.variables.after(address) or end)
        return address, min(end, address + WORD)

    def start(self, address: int) -> int:
        """Return the first address of the variable at an address."""
        symbol = self._code.variables.symbol_at(address)
        return symbol.address if symbol is not None else address

    def is_own(self, address: int) -> bool:
        """Return whether only the source that defines a variable knows its name; a stripped file does not tell."""
        section = self._code.binary.section_at(address) if address else None
        if section is None or not section.writable or section.name.isidentifier():
            return False  # any code finds a section by a name that is an identifier of C
        if self.start(address) in self._pointed:
            return False
        symbol = self._code.variables.symbol_at(address)
        return self._subject.is_own(symbol) if symbol is not None else self._code.binary.stripped

    @cached_property
    def _pointed(self) -> set[int]:
        """The variables, by their addresses, that data which others know points to."""
        found = set()
        for place, target in self._references.stored.items():
            section = self._code.binary.section_at(target)
            if section is None or not section.writable or section.executable:
                continue
            symbol = self._code.variables.symbol_at(place)
            if symbol is not None and not self._subject.is_own(symbol):
                found.add(self.start(target))
        return found

    def named(self, address: int) -> str:
        """Return how findings name data."""
        return demangle(self._code.variables.name_at(address)) or f"data at {address:#x}"

    def shown(self, address: int) -> str:
        """Return how findings name a secret address."""
        if self.is_code(address):
            return f"the address of {demangle(self._code.name(self._code.entry(address)))}"
        return f"the address of {self.named(address)}, which holds addresses of code"


def _between(known: list[int], start: int, end: int) -> list[int]:
    """Return those of the `known` addresses, in order, that are from `start` to before `end`."""
    return known[bisect_left(known, start) : bisect_left(known, end)]
