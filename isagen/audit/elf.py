"""Reading ELF files piece by piece, so that a library of hundreds of megabytes needs little memory."""

from __future__ import annotations

import os
import struct
from array import array
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import TracebackType

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile

from ..errors import AuditError

SHT_NOBITS, SHT_RELA, SHT_DYNSYM, SHT_SYMTAB = 8, 4, 11, 2
SHF_WRITE, SHF_ALLOC, SHF_EXECINSTR = 1, 2, 4
SHN_UNDEF, SHN_LORESERVE, SHN_XINDEX = 0, 0xFF00, 0xFFFF
STT_NOTYPE, STT_OBJECT, STT_FUNC, STT_TLS, STT_IFUNC = 0, 1, 2, 6, 10
STB_LOCAL, STB_GLOBAL, STB_WEAK, STB_UNIQUE = 0, 1, 2, 10
STV_DEFAULT, STV_PROTECTED = 0, 3
SYMBOL = struct.Struct("<IBBHQQ")
RELOCATION = struct.Struct("<QQq")
WINDOW = 1 << 20


@dataclass(frozen=True)
class ElfSection:
    """A section; `address` is where its bytes are looked for, given by us in an object, which has no addresses."""

    index: int
    name: str
    type: int
    flags: int
    address: int
    offset: int
    size: int
    link: int
    info: int

    @property
    def executable(self) -> bool:
        """Whether it holds code that is loaded."""
        return self.flags & (SHF_ALLOC | SHF_EXECINSTR) == SHF_ALLOC | SHF_EXECINSTR and self.type != SHT_NOBITS


@dataclass(frozen=True)
class ElfSymbol:
    """A symbol: its place in the table, and what the table says of it. `address` is 0 for one that is not defined."""

    number: int
    name_offset: int
    kind: int
    binding: int
    visibility: int
    section: int
    address: int
    size: int

    @property
    def defined(self) -> bool:
        """Whether this file defines it, in a section of its own."""
        return self.section != SHN_UNDEF


class Elf:
    """A 64-bit little-endian ELF file. Raises `AuditError` for any other file."""

    def __init__(self, path: Path, shown: str = "") -> None:
        self.path = path
        self.shown = shown or str(path)
        try:
            self._file = open(path, "rb")  # noqa: SIM115  closed by close()
        except OSError as problem:
            raise AuditError(f"cannot be read: {problem.strerror}", where=self.shown) from None
        try:
            self._read_headers()
        except (ELFError, struct.error, KeyError, ValueError, IndexError, TypeError, AttributeError) as problem:
            self.close()
            raise AuditError(f"is not an ELF file that can be read: {problem}", where=self.shown) from None
        except AuditError:
            self.close()
            raise
        self._window = (0, b"")

    def _read_headers(self) -> None:
        elf = ELFFile(self._file)
        if elf.elfclass != 64 or not elf.little_endian:
            raise AuditError("is not a 64-bit little-endian ELF file", where=self.shown)
        self.machine: str = elf["e_machine"]
        self.relocatable: bool = elf["e_type"] == "ET_REL"
        table, entry, count = elf["e_shoff"], elf["e_shentsize"], elf.num_sections()
        raw = self.at_offset(table, entry * count)
        headers = [struct.unpack_from("<IIQQQQIIQQ", raw, place * entry) for place in range(count)]
        names = headers[elf.get_shstrndx()] if count else None
        strings = self.at_offset(names[4], names[5]) if names else b""
        sections = []
        free = 0x1000
        for index, (name, kind, flags, address, offset, size, link, info, align, _) in enumerate(headers):
            if self.relocatable and flags & SHF_ALLOC:
                address = -(-free // max(align, 1)) * max(align, 1)
                free = address + size
            shown = strings[name : strings.index(b"\0", name)].decode(errors="replace")
            sections.append(ElfSection(index, shown, kind, flags, address, offset, size, link, info))
        self.sections = tuple(sections)
        self._loaded = sorted(
            (s for s in sections if s.flags & SHF_ALLOC and s.size and not s.name.startswith(".tbss")),
            key=lambda s: s.address,
        )
        self._starts = [s.address for s in self._loaded]

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def __enter__(self) -> Elf:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def at_offset(self, offset: int, size: int) -> bytes:
        """Return bytes of the file."""
        return os.pread(self._file.fileno(), size, offset)

    def section_at(self, address: int) -> ElfSection | None:
        """Return the loaded section that covers `address`."""
        place = bisect_right(self._starts, address) - 1
        if place >= 0:
            section = self._loaded[place]
            if address < section.address + section.size:
                return section
        return None

    def section(self, name: str) -> ElfSection | None:
        """Return the first section called `name`."""
        return next((s for s in self.sections if s.name == name), None)

    def content(self, section: ElfSection) -> bytes:
        """Return a section's bytes."""
        return b"" if section.type == SHT_NOBITS else self.at_offset(section.offset, section.size)

    def read(self, address: int, size: int) -> bytes:
        """Return up to `size` bytes at an address, none where nothing is loaded from the file."""
        section = self.section_at(address)
        if section is None or section.type == SHT_NOBITS:
            return b""
        place = address - section.address
        size = min(size, section.size - place)
        offset = section.offset + place
        start, held = self._window
        if not (start <= offset and offset + size <= start + len(held)):
            start, held = offset, self.at_offset(offset, max(size, WINDOW))
            self._window = (start, held)
        return held[offset - start : offset - start + size]

    @cached_property
    def symbol_table(self) -> ElfSection | None:
        """The full symbol table, or the dynamic one of a stripped file."""
        tables = {s.type: s for s in self.sections if s.type in (SHT_SYMTAB, SHT_DYNSYM)}
        return tables.get(SHT_SYMTAB) or tables.get(SHT_DYNSYM)

    @property
    def stripped(self) -> bool:
        """Whether the full symbol table is gone."""
        return self.symbol_table is None or self.symbol_table.type == SHT_DYNSYM

    @cached_property
    def dynamic_table(self) -> ElfSection | None:
        """The symbols that other files can bind to."""
        return next((s for s in self.sections if s.type == SHT_DYNSYM), None)

    @cached_property
    def _long_indexes(self) -> dict[int, array[int]]:
        """Section indexes of symbols in files of more than 65,279 sections (SHT_SYMTAB_SHNDX), by symbol table."""
        return {s.link: array("I", self.content(s)) for s in self.sections if s.type == 18}

    def symbols(self, table: ElfSection | None) -> Iterator[ElfSymbol]:
        """Yield the symbols of a table, with the addresses that `read` takes."""
        if table is None:
            return
        long = self._long_indexes.get(table.index)
        for number, (name, info, other, section, value, size) in enumerate(SYMBOL.iter_unpack(self.content(table))):
            if section == SHN_XINDEX and long is not None:
                section = long[number]
            elif section >= SHN_LORESERVE:
                section = SHN_UNDEF  # absolute, common: no code
            if self.relocatable and section != SHN_UNDEF and section < len(self.sections):
                value += self.sections[section].address
            yield ElfSymbol(number, name, info & 15, info >> 4, other & 3, section, value, size)

    def symbol(self, table: ElfSection, number: int) -> ElfSymbol:
        """Return one symbol of a table."""
        raw = self.at_offset(table.offset + number * SYMBOL.size, SYMBOL.size)
        name, info, other, section, value, size = SYMBOL.unpack(raw)
        if self.relocatable and SHN_UNDEF < section < SHN_LORESERVE:
            value += self.sections[section].address
        section = SHN_UNDEF if section >= SHN_LORESERVE else section
        return ElfSymbol(number, name, info & 15, info >> 4, other & 3, section, value, size)

    def name(self, table: ElfSection, symbol: ElfSymbol) -> str:
        """Return a symbol's name."""
        strings = self.sections[table.link]
        place, found = symbol.name_offset, b""
        while b"\0" not in found and place < strings.size:
            found += self.at_offset(strings.offset + place, min(256, strings.size - place))
            place = symbol.name_offset + len(found)
        return found.split(b"\0", 1)[0].decode(errors="replace")

    def relocations(self, section: ElfSection) -> Iterator[tuple[int, int, int, int]]:
        """Yield (offset, type, symbol's number, addend) of a relocation section."""
        chunk = RELOCATION.size * 65536
        for start in range(0, section.size, chunk):
            raw = self.at_offset(section.offset + start, min(chunk, section.size - start))
            for offset, info, addend in RELOCATION.iter_unpack(raw[: len(raw) // RELOCATION.size * RELOCATION.size]):
                yield offset, info & 0xFFFFFFFF, info >> 32, addend

    def notes(self, owner: str) -> list[bytes]:
        """Return what the notes of `owner` say."""
        found = []
        for section in self.sections:
            if section.type != 7 and not section.name.startswith(".note"):
                continue
            raw, place = self.content(section), 0
            while place + 12 <= len(raw):
                name_size, size, _ = struct.unpack_from("<III", raw, place)
                name = raw[place + 12 : place + 12 + name_size].rstrip(b"\0")
                start = place + 12 + (name_size + 3) // 4 * 4
                if name == owner.encode():
                    found.append(raw[start : start + size])
                place = start + (size + 3) // 4 * 4
        return found


def is_elf(path: Path) -> bool:
    """Return whether a file starts as ELF files do."""
    try:
        with path.open("rb") as stream:
            return stream.read(4) == b"\x7fELF"
    except OSError:
        return False
