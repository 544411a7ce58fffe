"""Reads Mach-O programs, libraries and bundles. Only the names of functions show to which level code belongs."""

from __future__ import annotations

import struct
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from functools import cached_property, partial
from itertools import chain

from ...model.names import level_of_name
from ..contents import Binding, RelocationTypes, Section, Symbol, SymbolKind
from ..reader import END, entries_of
from . import layout as m
from .fixups import Segment, Stream, by_chains, by_opcodes
from .jump_tables import jump_tables
from .pointers import MachoPointers
from .reader import NULL, Macho, section_of

PADDING = 64  # the most bytes of padding between the code of two objects


class MachoImage(Macho):
    """A Mach-O program, library or bundle.

    `sections` are the file's, except that a section of code is divided: each jump table or other data in it becomes a
    section of its own, which is not executable.
    """

    unreadable = "is not a Mach-O file that can be read: "
    relocatable, fixed, names_tell_levels = False, False, True
    starts = staticmethod(partial(m.is_macho, kinds=m.LINKED))

    def _read(self) -> None:
        super()._read()
        self.levels = frozenset(level for _, (level, _) in self._levels if level)

    # ---- commands, segments and sections

    def _link_data(self, number: int) -> tuple[int, int]:
        """Return the offset and size of the data that the command `number` describes; (0, 0) without such a command."""
        place = next((place for found, place, _ in self.commands() if found == number), 0)
        _, _, offset, size = m.LINK_DATA.unpack_from(self.data, place) if place else (0, 0, 0, 0)
        return offset, size

    @cached_property
    def _segments(self) -> list[Segment]:
        places = (place for number, place, _ in self.commands() if number == m.SEGMENT_64)
        fields = (m.SEGMENT.unpack_from(self.data, place) for place in places)
        return [Segment(address, offset, size) for _, _, _, address, _, offset, size, *_ in fields]

    @cached_property
    def _base(self) -> int:
        """The address to which the start of the file is loaded."""
        return next((s.address for s in self._segments if s.file_size and not s.offset), 0)

    def _sections(self) -> Iterator[Section]:
        sections = list(super()._sections())
        if any(place.address > END for place in self._segments) or any(s.address + s.size > END for s in sections):
            raise self.fail("a section or segment is at an address that no process has")
        in_file = sum(section.size for section in sections if section.in_file)
        if max(in_file, sum(segment.file_size for segment in self._segments)) > len(self.data):
            raise self.fail("its sections or segments overlap")
        return iter(sections)

    def _parts(self) -> Iterator[Section]:
        code = [section for section in self.sections if section.executable]
        start, size = self._link_data(m.DATA_IN_CODE)
        listed = entries_of(m.DATA_ENTRY, self.data[start : start + size])
        tables = self._jump_tables(code) if self.machine == m.X86_64 else ()
        data = sorted([*((offset, offset + length) for offset, length, _ in listed), *tables])
        for section in self.sections[1:]:
            yield from _divided(section, data if section.executable else [])

    def _jump_tables(self, code: Sequence[Section]) -> Iterator[tuple[int, int]]:
        """Yield (first offset in the file, end) of each jump table in the sections `code`."""
        starts = sorted({*(entry.value for entry in self._entries() if entry.section), *self._function_starts})
        for section in code:
            first, after = (bisect_left(starts, at) for at in (section.address, section.address + section.size))
            inside = [start - section.address for start in starts[first:after]]
            for start, end in jump_tables(self.content(section), inside):
                yield section.offset + start, section.offset + end

    # ---- symbols

    @cached_property
    def _function_starts(self) -> set[int]:
        """The addresses in the file's list of functions, which `strip` does not remove. zig's linker writes no list."""
        distances, starts, address = Stream(self.data, *self._link_data(m.FUNCTION_STARTS)), set(), self._base
        while distances and (distance := distances.uleb()):
            address += distance
            starts.add(address)
        return starts

    def _decoded(self) -> Iterator[Symbol]:
        self.sections = (NULL, *(part._replace(index=index) for index, part in enumerate(self._parts(), 1)))
        symbols = []
        for entry in self._entries():
            section = (self.section_at(entry.value) if entry.section else None) or NULL
            symbols.append(entry.symbol(section))
        self.stripped = not any(symbol.binding == Binding.LOCAL and symbol.section for symbol in symbols)
        # A local label is inside of a function, and does not end it.
        ending = (s.address for s in symbols if s.section and not (s.kind == SymbolKind.LABEL and s.local))
        self._ends = sorted({*ending, *self._function_starts})
        for symbol in symbols:
            # In a stripped file, symbols are missing: only functions have known sizes, if the file lists their starts.
            is_listed = self.sections[symbol.section].executable and self._function_starts
            sized = is_listed or not self.stripped
            yield symbol._replace(size=self._size(symbol.address)) if symbol.section and sized else symbol

    def _size(self, address: int) -> int:
        """Return the number of bytes from an address to the next symbol or function, or the section's end."""
        section = self.section_at(address)
        assert section is not None
        after = bisect_right(self._ends, address)
        end = section.address + section.size
        if after < len(self._ends):
            end = min(end, self._ends[after])
        if section.executable and self.machine == m.X86_64:  # zeros at the end are padding
            tail = self.read(max(address, end - PADDING), min(PADDING, end - address))
            end -= len(tail) - len(tail.rstrip(b"\0"))
        return end - address

    def unwind_table_functions(self) -> Iterator[tuple[int, int]]:
        for start in sorted(self._function_starts):
            if self.is_code(start):
                yield start, self._size(start)

    # ---- levels

    @cached_property
    def _levels(self) -> list[tuple[int, tuple[str, int]]]:
        """(Address, (level, section's index)) of each named function. The level is "" if one of its names has none."""
        names = {level.lower(): level for record in self.records() for level in record.levels}
        functions = (s for s in self.symbols() if s.kind == SymbolKind.FUNCTION and s.defined) if names else ()
        found = sorted(
            ((s.address, (names.get(level_of_name(s.name), ""), s.section)) for s in functions), reverse=True
        )
        return sorted(dict(found).items())

    def level_at(self, address: int) -> str:
        number = bisect_left(self._levels, (address + 1,)) - 1
        section = self.section_at(address)
        if number < 0 or section is None or not section.executable:
            return ""
        _, (level, index) = self._levels[number]
        return level if self.sections[index].name == section.name else ""

    # ---- pointers

    def pointers(self, kinds: RelocationTypes) -> MachoPointers:
        _, _, subtype, kind, _, _, flags, _ = m.HEADER.unpack_from(self.data)
        if self.machine == m.ARM64 and subtype & 0xFF == m.ARM64E:
            raise self.fail("its pointers are signed (arm64e), which is not read")
        if kind == m.PROGRAM and not flags & m.PIE:
            raise self.fail("it is loaded at fixed addresses (it is no PIE), which is not read")
        start, size = self._link_data(m.CHAINED_FIXUPS)
        opcodes = next((place for number, place, _ in self.commands() if number in m.DYLD_INFO), 0)
        try:
            if opcodes:
                fixups = list(by_opcodes(self.data, self._segments, m.LOADER_DATA.unpack_from(self.data, opcodes)))
            else:
                fixups = list(by_chains(self.data, self._segments, self._base, start, size)) if size else []
        except (struct.error, IndexError, ValueError) as problem:
            raise self.fail(f"it is damaged: {problem}") from None
        return MachoPointers(self, kinds, fixups, self._base)


def _divided(section: Section, data: Sequence[tuple[int, int]]) -> Iterator[Section]:
    """Divide a section into code and the `data` in it: (first offset in the file, end) of each piece, in order."""
    start, after = section.offset, section.offset + section.size
    for low, high in chain(data[bisect_right(data, (start,)) : bisect_right(data, (after,))], [(after, after)]):
        for end, flags in ((low, section.flags), (high, 0)):
            end = min(end, after)
            if end > start or section.size == 0:
                address = section.address + start - section.offset
                yield section_of(section.index, section.name, (address, start, end - start), flags)
                start = end
