"""Reads the pointers of a linked Mach-O file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property

from ..contents import RelocationTypes, Section, Target, within
from ..reader import Binary, Pointers, numbers_of
from . import layout as m
from .fixups import Fixup
from .reader import name_in_c

GOT = ",__got"  # the end of the name of the GOT's section, whose type is not always one of m.POINTERS
WORD = 8


class MachoPointers(Pointers[Binary]):
    """The pointers of a linked file that starts at the address `base`."""

    def __init__(self, file: Binary, kinds: RelocationTypes, fixups: Iterable[Fixup], base: int) -> None:
        super().__init__(file, kinds)
        self._base = base
        self._sections = [(s, s.flags & m.SECTION_TYPE) for s in file.sections if s.in_file and s.size]
        own = {symbol.name: symbol.address for symbol in file.symbols() if symbol.defined and symbol.visible}
        self._targets: dict[int, Target] = {}
        for fixup in fixups:
            name = name_in_c(fixup.name)
            found = own.get(name, 0) if fixup.own else 0
            self._targets[fixup.place] = Target(found + fixup.addend if found else fixup.address, name)

    @cached_property
    def slot_ranges(self) -> list[tuple[int, int]]:
        arrays = [s for s, kind in self._sections if s.when_called and kind != m.INIT_OFFSETS]
        return _ranges([*arrays, *(s for s, kind in self._sections if kind in m.POINTERS or s.name.endswith(GOT))])

    @cached_property
    def plt_ranges(self) -> list[tuple[int, int]]:
        return _ranges(s for s, kind in self._sections if kind == m.SYMBOL_STUBS or s.name.endswith(m.STUB_HELPER))

    def follow(self, slot: int) -> Target:
        return self._targets.get(slot, Target()) if within(self.slot_ranges, slot) else Target()

    def called_by_loader(self) -> Iterator[tuple[int, str]]:
        for section, kind in self._sections:
            if not section.when_called:
                continue
            if kind == m.INIT_OFFSETS:
                content = self._file.read(section.address, section.size)
                targets = [self._base + offset for offset in numbers_of("I", content, "little")]
            else:
                places = range(section.address, section.address + section.size - WORD + 1, WORD)
                targets = [self.follow(place).address for place in places]
            yield from ((target, section.when_called) for target in targets if target)

    def in_data(self) -> Iterator[tuple[int, int]]:
        for place, target in self._targets.items():
            if target.address:
                yield place, target.address


def _ranges(sections: Iterable[Section]) -> list[tuple[int, int]]:
    return sorted((section.address, section.address + section.size) for section in sections)
