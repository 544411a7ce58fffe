"""Reads PE files, the programs and libraries of Windows: their sections, symbols, exports and notes."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from itertools import pairwise
from struct import Struct
from typing import Any

from ..contents import Binding, Section, Symbol, SymbolKind
from ..reader import END, entries_of
from . import layout as c
from .reader import NULL, Coff, kind_of, section_of

LONGEST_NAME = 1 << 16
# Symbols of arrays of functions. The arrays are data, although GNU's linker puts them into the section of code.
ARRAYS = frozenset({"__CTOR_LIST__", "___CTOR_LIST__", "__DTOR_LIST__", "___DTOR_LIST__"})


class Image(Coff):
    """A PE file, without its pointers."""

    unreadable = "is not a PE file that can be read: "
    relocatable = False
    starts = staticmethod(c.is_image)

    def _read(self) -> None:
        place = int.from_bytes(self.data[c.SIGNATURE_AT : c.SIGNATURE_AT + 4], "little") + len(c.SIGNATURE)
        header = c.HEADER.unpack_from(self.data, place)
        self.machine, count, _, self.symbols_at, self.symbol_count, optional_size, self.flags = header
        self.headers_at = place + c.HEADER.size + optional_size
        optional = self.data[place + c.HEADER.size : self.headers_at]
        kind = int.from_bytes(optional[:2], "little")
        if kind not in c.OPTIONAL:
            raise self.fail("its optional header is of an unknown kind")
        base_at, base_size, directories_at = c.OPTIONAL[kind]
        self.base = int.from_bytes(optional[base_at : base_at + base_size], "little")
        entry = int.from_bytes(optional[c.ENTRY_AT : c.ENTRY_AT + 4], "little")
        self.entry_point = self.base + entry if entry else 0
        directories = optional[directories_at:]
        self._directories = tuple(entries_of(c.DIRECTORY, directories))
        if self.base > END or self.headers_at + count * c.SECTION.size > len(self.data):
            raise self.fail("its headers are cut off, or its address is one that no process has")
        self.fixed = bool(self.flags & c.FILE_RELOCS_STRIPPED)
        self.stripped = not (self.symbols_at and self.symbol_count)
        if self.stripped:
            self.symbols_at, self.symbol_count = len(self.data), 0
        self.entry, self.strings_end = c.SYMBOL, len(self.data)
        self.strings_at = self.symbols_at + self.symbol_count * self.entry.size
        if self.strings_at > len(self.data):
            raise self.fail("its table of symbols is cut off")
        self.sections = (NULL, *self._sections(count))
        if sum(section.stored for section in self.sections) > len(self.data):
            raise self.fail("its sections overlap")
        symbols = [*self._of_table(), *self._exported()]
        self._symbols = {symbol.number: symbol for symbol in symbols}
        self._read_levels()

    def _sections(self, count: int) -> Iterator[Section]:
        for index in range(1, count + 1):
            header = c.SECTION.unpack_from(self.data, self.headers_at + (index - 1) * c.SECTION.size)
            raw, size, address, stored, offset, *_, flags = header
            name = raw.rstrip(b"\0").decode(errors="surrogateescape")
            stored = min(stored, size or stored)
            if offset + stored > len(self.data):
                raise self.fail(f"section {name} is cut off")
            if flags & c.SCN_MEM_EXECUTE:
                size = stored  # bytes beyond those in the file are zeros, and no code
            yield section_of(index, name, (self.base + address, offset, size or stored, stored), flags)

    # ---- bytes

    def directory(self, number: int) -> tuple[int, int]:
        """Return the address and size of the table with this number in the optional header; (0, 0) if there is none."""
        address, size = self._directories[number] if number < len(self._directories) else (0, 0)
        return (self.base + address, size) if address and size else (0, 0)

    def _has_addresses(self, section: Section) -> bool:
        return section.size > 0  # not only if it is `loaded`: the loader also maps sections that it may discard later

    def unpack(self, form: Struct, address: int) -> tuple[Any, ...]:
        raw = self.read(address, form.size)
        if len(raw) < form.size:
            raise self.fail(f"a table at {address:#x} is cut off")
        return form.unpack(raw)

    def text(self, address: int) -> str:
        raw = self.read(address, LONGEST_NAME)
        end = raw.find(b"\0")
        if end < 0:
            raise self.fail(f"a name at {address:#x} is cut off")
        return self.counted(raw[:end].decode(errors="surrogateescape"))

    # ---- levels

    def _read_levels(self) -> None:
        names = dict.fromkeys(name for record in self.records() for name in record.levels)
        self._levels = {c.code_section(name): name for name in names}
        if len(self._levels) < len(names):
            raise self.fail("two of its levels have the same section name: rename one of these levels in its table")
        code = (section.name for section in self.sections if section.executable and section.size)
        self.levels = frozenset(self._levels[name] for name in code if name in self._levels)

    def level_at(self, address: int) -> str:
        section = self.section_at(address)
        return self._levels.get(section.name, "") if section is not None and section.executable else ""

    # ---- symbols and unwind tables

    def _of_table(self) -> Iterator[Symbol]:
        """Yield the symbols of the symbol table that MinGW's linkers write, except absolute and debugging symbols."""
        entries = [entry for entry in self._entries() if entry.section >= 0]
        places = sorted({self.sections[entry.section].address + entry.value for entry in entries if entry.section})
        for entry in entries:
            section = self.sections[entry.section]
            kind, address, size = kind_of(entry, section), section.address + entry.value if entry.section else 0, 0
            name = entry.name
            if entry.storage == c.CLASS_STATIC and entry.auxiliary and entry.kind != c.TYPE_FUNCTION:
                kind, function = SymbolKind.SECTION, name.partition("$")[2]
                if function and section.executable:  # the section's symbol stands for the function
                    kind, name = SymbolKind.FUNCTION, function
            elif name in ARRAYS:
                kind = SymbolKind.DATA
            if kind == SymbolKind.DATA and entry.section:
                following = bisect_right(places, address)
                ends = section.address + section.size, *places[following : following + 1]
                size = max(min(ends) - address, 0)
            binding = Binding.LOCAL if entry.storage in (c.CLASS_STATIC, c.CLASS_FILE) else Binding.GLOBAL
            defined = entry.section != 0
            hidden = binding != Binding.LOCAL  # only exported symbols are visible
            yield Symbol(entry.number, name, kind, binding, entry.section, address, size, defined, hidden)

    def _exported(self) -> Iterator[Symbol]:
        """Yield the exported symbols, except those that the export table forwards to other files."""
        start, size = self.directory(c.EXPORTS)
        if not start:
            return
        *_, first, count, named, addresses, names, ordinals = self.unpack(c.EXPORT_DIRECTORY, start)
        places = self.unpack(Struct(f"<{count}I"), self.base + addresses)
        numbers = self.unpack(Struct(f"<{named}H"), self.base + ordinals)
        texts = dict(zip(numbers, self.unpack(Struct(f"<{named}I"), self.base + names), strict=True))
        for number, place in enumerate(places):
            address = self.base + place
            section = self.section_at(address)
            if place and section is not None and not start <= address < start + size:
                name = self.text(self.base + texts[number]) if number in texts else f"#{first + number}"
                kind = SymbolKind.FUNCTION if section.executable else SymbolKind.DATA
                number += self.symbol_count
                yield Symbol(number, name, kind, Binding.GLOBAL, section.index, address, 0, True)

    def exports(self) -> Iterator[Symbol]:
        return (symbol for symbol in self.symbols() if symbol.visible)

    def unwind_table_functions(self) -> Iterator[tuple[int, int]]:
        """An entry of .pdata that continues the previous one is joined with it."""
        table, size = self.directory(c.EXCEPTIONS)
        form = c.UNWIND_ENTRY.get(self.machine)
        if form is None or not table:
            return
        raw = self.read(table, size // form.size * form.size)
        start = end = 0
        for begin, *stops, unwinding in sorted(entries_of(form, raw)):
            stop = stops[0] if stops else begin + self._unwound_size(unwinding)
            if begin == end and self._is_chained(unwinding):
                end = stop
                continue
            yield from self._function(start, min(end, begin))
            start, end = begin, stop
        yield from self._function(start, end)

    def _function(self, start: int, end: int) -> Iterator[tuple[int, int]]:
        """Yield (address, size) of the function from `start` to `end`, without the jump tables that cl puts at its end.

        The first table starts at the first two words in a row that are addresses in the function. All addresses are
        relative to the image base, except the one that is yielded.
        """
        place = -(-start // 4) * 4
        raw = self.read(self.base + place, end - place)
        words = (start <= word < end for (word,) in entries_of(c.WORD, raw))
        table = next((place + 4 * number for number, both in enumerate(pairwise(words)) if all(both)), end)
        if start < table:
            yield self.base + start, table - start

    def _is_chained(self, unwinding: int) -> bool:
        flags = self.read(self.base + unwinding, 1) if self.machine == c.AMD64 else b""
        return bool(flags and flags[0] >> 3 & c.UNWIND_CHAINED)

    def _unwound_size(self, unwinding: int) -> int:
        """`unwinding` is packed unwind information of arm64, or the RVA of a record with the information."""
        if unwinding & 3:
            return (unwinding >> 2 & 0x7FF) * 4
        return (int.from_bytes(self.read(self.base + unwinding, 4), "little") & 0x3FFFF) * 4
