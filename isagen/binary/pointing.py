"""The protocol of the pointers of a binary, through which code is called, and of the relocations that fill them in."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from .protocol import Section


@dataclass(frozen=True)
class Relocations:
    """The relocation types of one processor in one format, by what they do.

    `absolute` ones hold an address, `relative` ones a distance from themselves; `through_slot` ones of these lead to a
    pointer that the loader fills in. In a linked file, `slot` ones are pointers to a symbol, `rebased` ones pointers
    into this file, and `resolved` ones pointers that a resolver's answer goes to.
    """

    absolute: frozenset[int]
    relative: frozenset[int]
    through_slot: frozenset[int]
    slot: frozenset[int]
    rebased: int
    resolved: int


@dataclass(frozen=True)
class Reference:
    """A relocation of an object: at `address`, of the format's own `kind`, to a symbol of a table."""

    address: int
    kind: int
    table: int
    symbol: int
    addend: int
    through_slot: bool


class Pointers(Protocol):
    """The pointers of a binary that code is called through: tables of the linker, and arrays that the loader walks."""

    @property
    def spans(self) -> Sequence[tuple[int, int]]:
        """Where pointers that matter are: (first address, address after the last) of each, in order."""

    @property
    def arrays(self) -> Sequence[tuple[int, int]]:
        """Where arrays of functions that the loader calls are, in the form of `spans`."""

    @property
    def jumps(self) -> Sequence[tuple[int, int]]:
        """Where the linker's tables of jumps through such pointers are, in the form of `spans`."""

    @property
    def resolvers(self) -> Sequence[int]:
        """The addresses of resolvers, which the loader calls."""

    def follow(self, slot: int) -> int:
        """Return the address that the pointer in `slot` leads to; 0 if that is in no place of this file."""

    def name(self, slot: int) -> str:
        """Return the name of the symbol that a pointer is for, if the loader looks it up by name."""

    def is_null(self, slot: int) -> bool:
        """Return whether a pointer stays NULL: for a weak symbol that nothing defines."""

    def is_resolved(self, slot: int) -> bool:
        """Return whether a pointer holds what a resolver answers."""

    def called_by_loader(self) -> Iterator[tuple[int, str]]:
        """Yield the functions that the loader calls: (address, when)."""

    def stored(self) -> Iterator[tuple[int, int]]:
        """Yield the pointers in data: (where each is, address that it leads to in this file)."""

    def reference(self, section: Section, start: int, end: int) -> Reference | None:
        """Return the relocation of an object's section from `start` to before `end`, if there is one."""

    def references(self, section: Section) -> Sequence[Reference]:
        """Return the relocations of an object's section, in order."""

    def target(self, reference: Reference, after: int = 0) -> int:
        """Return the address that an object's relocation is for; 0 if it is not in this object, or not in memory.

        `after` is the address after the instruction that it is in.
        """

    def operand(self, reference: Reference, after: int) -> int:
        """Return the address that the relocation of an instruction is for; its symbol's if it is out of its section.

        `after` is the address after the instruction.
        """

    def is_absolute(self, reference: Reference) -> bool:
        """Return whether an object's relocation is for an address, not for a distance from itself."""

    def target_name(self, reference: Reference) -> str:
        """Return the name of the symbol that an object's relocation is for."""


def within(spans: Sequence[tuple[int, int]], address: int) -> bool:
    """Return whether an address is in one of the `spans`: (first address, address after the last) of each, in order."""
    place = bisect_right(spans, (address, 1 << 64)) - 1
    return place >= 0 and address < spans[place][1]
