"""The pointers of a COFF object: those that the run-time library calls code through, and those in data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..protocol import Relocation, RelocationTypes, Section, Target
from .entries import UNWINDING
from .reader import Coff


class CoffPointers:
    """The pointers of a COFF object (`isagen.binary.protocol.Pointers`)."""

    slot_ranges: Sequence[tuple[int, int]] = ()
    plt_ranges: Sequence[tuple[int, int]] = ()
    resolvers: Sequence[int] = ()

    def __init__(self, coff: Coff, kinds: RelocationTypes) -> None:
        self._coff = coff
        self._kinds = kinds

    def follow(self, slot: int) -> Target:
        return Target()

    def called_by_loader(self) -> Iterator[tuple[int, str]]:
        for section in self._coff.sections:
            for relocation in self.relocations(section) if section.when_called else ():
                yield self.target(relocation), section.when_called

    def in_data(self) -> Iterator[tuple[int, int]]:
        for section in self._coff.sections:
            if section.in_file and not section.executable and not section.name.startswith(UNWINDING):
                for relocation in self.relocations(section):
                    if relocation.kind in self._kinds.absolute and (target := self.target(relocation)):
                        yield relocation.address, target

    def relocations(self, section: Section, start: int = 0, end: int = 1 << 64) -> Sequence[Relocation]:
        return self._coff.relocations_between(section.index, start, end)

    def target(self, relocation: Relocation, after: int = 0) -> int:
        symbol = self._coff.symbol(relocation.symbol)
        if not symbol.defined:
            return 0
        if relocation.kind in self._kinds.relative:
            return symbol.address + relocation.addend + (after - relocation.address if after else 0)
        return symbol.address + relocation.addend if relocation.kind in self._kinds.absolute else 0

    def operand(self, relocation: Relocation, after: int) -> int:
        target = self.target(relocation, after)
        symbol = self._coff.symbol(relocation.symbol)
        section = self._coff.section_at(target) if target else None
        return target if section is not None and section.index == symbol.section else symbol.address

    def target_name(self, relocation: Relocation) -> str:
        return self._coff.symbol(relocation.symbol).text


class LoadedCoff(Coff):
    """A COFF object with its pointers (`isagen.binary.protocol.Binary`)."""

    def pointers(self, kinds: RelocationTypes) -> CoffPointers:
        return CoffPointers(self, kinds)
