"""Reads ELF files. They are mapped into memory, because a library may have hundreds of megabytes."""

from __future__ import annotations

import sys
from array import array
from bisect import bisect_right
from collections.abc import Iterator
from functools import cached_property
from mmap import mmap
from pathlib import Path
from typing import Self

from ...model.errors import AuditError
from ...model.files import AnyPath, mapped
from .. import itanium
from ..notes import notes_of
from ..protocol import Mangling, Symbol, SymbolKind
from . import layout as e
from .entries import BINDINGS, KINDS, UNWINDING, ElfSection, ElfSymbol, undefined
from .unwind import unwind_table_functions

END = 1 << 62  # no address is beyond it: a process has 2**47 bytes of addresses, or 2**56 with five-level paging
LONGEST_NAME = 1 << 16
# The prefix of a sealed level's executable sections. Linkers define no __start_NAME for a NAME that starts with a dot.
CODE_SECTION = ".isa_text."
UNREADABLE = "is not an ELF file that can be read: "


class Elf:
    """An ELF file, on disk or, with `data`, in memory. Raises `AuditError` if it is damaged.

    `isagen.binary.protocol.Binary` documents its methods.
    """

    format = "elf"
    mangling: Mangling = itanium
    names_tell_levels = False

    def __init__(self, path: AnyPath, shown: str = "", data: bytes | None = None) -> None:
        self.path = Path(path)
        self.shown = shown or str(path)
        try:
            self._data = data if data is not None else mapped(path)
            self._read_headers()
        except OSError as problem:
            raise AuditError(f"cannot be read: {problem.strerror}", where=self.shown) from None

    def fail(self, problem: str, remedy: str = "") -> AuditError:
        """Return the error for a file that is damaged or not ELF."""
        return AuditError(UNREADABLE + problem, where=self.shown, remedy=remedy)

    def _read_headers(self) -> None:
        start = self.at_offset(0, 6)
        if start[:4] != e.MAGIC:
            raise self.fail("it does not start as one")
        layout = e.layout_of(start)
        if layout is None:
            raise self.fail("its word size or byte order is unknown")
        self.layout = layout
        raw = self.at_offset(0, layout.header.size)
        if len(raw) < layout.header.size:
            raise self.fail("its header is cut off")
        _, kind, self.machine, _, _, _, table, _, _, _, _, entry, count, names = layout.header.unpack(raw)
        self.architecture = e.architecture_of(raw)
        self.relocatable = kind == e.ET_REL
        self.fixed = kind == e.ET_EXEC
        if not table:
            raise self.fail("it has no section headers, which show where code is", "audit it as it was linked")
        first = self.at_offset(table, layout.section.size)
        if entry != layout.section.size or len(first) < entry:
            raise self.fail("its section headers are cut off or of an unknown size")
        # The header of section 0 contains the numbers that are too large for the file's header.
        count = count or layout.section.unpack(first)[5]
        names = layout.section.unpack(first)[6] if names == e.SHN_XINDEX else names
        if table + entry * count > self.size or names >= count:
            raise self.fail("its section headers are cut off")
        self.headers_at: int = table
        self.names_section: int = names
        headers = list(layout.section.iter_unpack(self.at_offset(table, entry * count)))
        _, kind, _, _, start_of_names, size, _, _, _, _ = headers[names]
        strings = self.at_offset(start_of_names, size) if names and kind != e.SHT_NOBITS else b""
        self.sections = tuple(self._sections(headers, strings))

    def _sections(self, headers: list[tuple[int, ...]], strings: bytes) -> Iterator[ElfSection]:
        free = 0x1000
        for index, (name, kind, flags, address, offset, size, link, info, align, _) in enumerate(headers):
            if self.relocatable and flags & e.SHF_ALLOC:
                address = -(-free // max(align, 1)) * max(align, 1)
                free = address + size
            end = strings.find(b"\0", name)
            shown = strings[name : end if end >= 0 else len(strings)][:LONGEST_NAME].decode(errors="surrogateescape")
            if kind not in (e.SHT_NULL, e.SHT_NOBITS) and offset + size > self.size:
                raise self.fail(f"section {shown or index} is cut off")
            if flags & e.SHF_ALLOC and address + size > END:
                raise self.fail(f"section {shown or index} is at an address that no process has")
            relocates = kind in e.RELOCATION_SECTIONS
            missing = link >= len(headers) or (relocates and self.relocatable and info >= len(headers))
            if missing and (relocates or kind in (e.SHT_SYMTAB, e.SHT_DYNSYM)):
                raise self.fail(f"section {shown or index} is linked to one that is not there")
            yield ElfSection(index, shown, kind, flags, address, offset, size, link, info, align)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *details: object) -> None:
        if isinstance(self._data, mmap):
            self._data.close()

    # ---- bytes

    @property
    def size(self) -> int:
        """The size of the file in bytes."""
        return len(self._data)

    def at_offset(self, offset: int, size: int) -> bytes:
        """Return `size` bytes of the file at `offset`, or fewer if the file ends before."""
        return self._data[offset : offset + max(size, 0)]

    @cached_property
    def _loaded(self) -> list[ElfSection]:
        """The sections with addresses in a process, in order. The addresses in .tbss's header are those of others."""
        loaded = (s for s in self.sections if s.flags & e.SHF_ALLOC and s.size)
        return sorted(
            (s for s in loaded if not (s.type == e.SHT_NOBITS and s.flags & e.SHF_TLS)), key=lambda s: s.address
        )

    @cached_property
    def _starts(self) -> list[int]:
        return [section.address for section in self._loaded]

    def section_at(self, address: int) -> ElfSection | None:
        index = bisect_right(self._starts, address) - 1
        section = self._loaded[index] if index >= 0 else None
        return section if section is not None and address < section.address + section.size else None

    @cached_property
    def levels(self) -> frozenset[str]:
        names = (s.name for s in self.sections if s.size and s.name.startswith(CODE_SECTION))
        return frozenset(name.removeprefix(CODE_SECTION) for name in names)

    def level_at(self, address: int) -> str:
        section = self.section_at(address)
        if section is None or not section.executable or not section.name.startswith(CODE_SECTION):
            return ""
        return section.name.removeprefix(CODE_SECTION)

    def content(self, section: ElfSection) -> bytes:
        """Return a section's bytes."""
        return b"" if section.type == e.SHT_NOBITS else self.at_offset(section.offset, section.size)

    def read(self, address: int, size: int) -> bytes:
        section = self.section_at(address)
        if section is None or section.type == e.SHT_NOBITS:
            return b""
        skipped = address - section.address
        return self.at_offset(section.offset + skipped, min(size, section.size - skipped))

    # ---- symbols

    @cached_property
    def full_table(self) -> ElfSection | None:
        """The full symbol table; None in a stripped file."""
        return next((s for s in self.sections if s.type == e.SHT_SYMTAB), None)

    @cached_property
    def dynamic_table(self) -> ElfSection | None:
        """The table of the symbols that other files can bind to; None in an object or a static program."""
        return next((s for s in self.sections if s.type == e.SHT_DYNSYM), None)

    @property
    def symbol_table(self) -> ElfSection | None:
        """The full symbol table, or the dynamic one if the file is stripped."""
        return self.full_table or self.dynamic_table

    @property
    def stripped(self) -> bool:
        return self.full_table is None

    def symbols(self) -> Iterator[ElfSymbol]:
        return self.symbols_of(self.symbol_table)

    def exports(self) -> Iterator[ElfSymbol]:
        return self.symbols_of(self.full_table if self.relocatable else self.dynamic_table)

    def symbols_of(self, table: ElfSection | None, first: int = 0) -> Iterator[ElfSymbol]:
        """Yield the symbols of a table, from number `first` on."""
        if table is None:
            return
        size = self.layout.symbol.size
        raw = self.at_offset(table.offset + first * size, (table.size // size - first) * size)
        for number, values in enumerate(self.layout.symbol.iter_unpack(raw[: len(raw) // size * size]), first):
            yield self._symbol(table, number, values)

    def symbol(self, number: int) -> ElfSymbol:
        table = self.symbol_table
        return self.symbol_of(table, number) if table is not None else undefined(number, 0)

    def symbol_of(self, table: ElfSection, number: int) -> ElfSymbol:
        """Return the symbol with a number in a table; an undefined symbol if the table has no such number."""
        size = self.layout.symbol.size
        raw = self.at_offset(table.offset + number * size, size)
        if len(raw) < size or (number + 1) * size > table.size:
            return undefined(number, table.index)
        return self._symbol(table, number, self.layout.symbol.unpack(raw))

    def _symbol(self, table: ElfSection, number: int, values: tuple[int, ...]) -> ElfSymbol:
        if self.layout.wide:
            name, info, other, section, value, size = values
        else:
            name, value, size, info, other, section = values
        definition, is_common = section != e.SHN_UNDEF, section == e.SHN_COMMON
        if section == e.SHN_XINDEX:
            long = self._long_indexes.get(table.index, ())
            section = long[number] if number < len(long) else e.SHN_UNDEF
        elif section >= e.SHN_LORESERVE:
            section = e.SHN_UNDEF  # absolute or common
        if section >= len(self.sections):
            section = e.SHN_UNDEF
        if self.relocatable and section != e.SHN_UNDEF:
            value = (value + self.sections[section].address) % (1 << 64)
        kind, binding = SymbolKind.COMMON if is_common else KINDS[info & 15], BINDINGS[info >> 4]
        return ElfSymbol(number, table.index, name, kind, binding, other & 3, section, value, size, definition)

    @cached_property
    def _long_indexes(self) -> dict[int, array[int]]:
        """The section index of each symbol, by symbol table, in files of 65,280 sections or more (SHT_SYMTAB_SHNDX)."""
        by_table = {}
        for section in self.sections:
            if section.type == e.SHT_SYMTAB_SHNDX:
                indexes = array("I", self.at_offset(section.offset, section.size // 4 * 4))
                if self.layout.byteorder != sys.byteorder:
                    indexes.byteswap()
                by_table[section.link] = indexes
        return by_table

    def name(self, symbol: Symbol) -> str:
        assert isinstance(symbol, ElfSymbol)
        table = self.sections[symbol.table]
        if table.link >= len(self.sections):
            return ""  # the table that a relocation section refers to is no symbol table
        strings = self.sections[table.link]
        start = strings.offset + symbol.name_offset
        limit = min(strings.offset + strings.size, start + LONGEST_NAME, self.size)
        if start >= limit:
            return ""
        end = self._data.find(b"\0", start, limit)
        return self._data[start : end if end >= 0 else limit].decode(errors="surrogateescape")

    # ---- notes and unwind tables

    def notes(self, owner: str) -> list[bytes]:
        sections = (s for s in self.sections if s.type == e.SHT_NOTE or s.name.startswith(".note"))
        return [text for s in sections for text in notes_of(self.content(s), owner, self.layout.order)]

    def unwind_table_functions(self) -> Iterator[tuple[int, int]]:
        table = next((s for s in self.sections if s.name == UNWINDING), None)
        if table is not None and table.in_file and not self.relocatable:
            yield from unwind_table_functions(self.content(table), table.address)
