"""The pointers of a linked Mach-O file: tables of the linker, arrays that the loader reads, and pointers in data."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Sequence

from ..object_reader import ObjectPointers, ObjectReader
from ..protocol import RelocationTypes, Target, within
from . import layout as m
from .entries import name_in_c
from .fixups import Fixup

GOT = ",__got"  # some linkers give it another type than that of pointers
WORD = 8


class MachoPointers(ObjectPointers):
    """The pointers of a linked file at address `base` (`isagen.binary.protocol.Pointers`)."""

    def __init__(
        self, file: ObjectReader, kinds: RelocationTypes, fixups: Iterable[Fixup], base: int, resolvers: Sequence[int]
    ) -> None:
        super().__init__(file, kinds)
        self.resolvers = resolvers
        sections = [(s, s.flags & m.SECTION_TYPE) for s in file.sections if s.in_file and s.size]
        ends = {s.index: (s.address, s.address + s.size) for s, _ in sections}
        self._arrays = [(s, kind) for s, kind in sections if s.when_called]
        tables = [s for s, kind in sections if kind in m.POINTERS or s.name.endswith(GOT)]
        arrays = [s for s, kind in self._arrays if kind != m.INIT_OFFSETS]
        jumps = [s for s, kind in sections if kind == m.SYMBOL_STUBS or s.name.endswith(m.STUB_HELPER)]
        self.slot_ranges = sorted(ends[section.index] for section in (*tables, *arrays))
        self.plt_ranges = sorted(ends[section.index] for section in jumps)
        self._base = base
        own = {symbol.text: symbol.address for symbol in file.symbols() if symbol.defined and symbol.visible}
        self._targets: dict[int, Target] = {}
        for fixup in fixups:
            name = name_in_c(fixup.name)
            found = own.get(name, 0) if fixup.own else 0
            self._targets[fixup.place] = Target(found + fixup.addend if found else fixup.address, name)

    def follow(self, slot: int) -> Target:
        return self._targets.get(slot, Target()) if within(self.slot_ranges, slot) else Target()

    def called_by_loader(self) -> Iterator[tuple[int, str]]:
        for address in self.resolvers:
            yield address, "when loaded, as a resolver"
        for section, kind in self._arrays:
            content = self._file.content(section)
            if kind == m.INIT_OFFSETS:
                words = struct.iter_unpack("<I", content[: len(content) // 4 * 4])
                targets = [self._base + offset for (offset,) in words]
            else:
                places = range(section.address, section.address + section.size - WORD + 1, WORD)
                targets = [self.follow(place).address for place in places]
            yield from ((target, section.when_called) for target in targets if target)

    def in_data(self) -> Iterator[tuple[int, int]]:
        for place, target in self._targets.items():
            if target.address:
                yield place, target.address
