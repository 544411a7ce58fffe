"""Reading ELF files piece by piece, so that a library of hundreds of megabytes needs little memory."""

from __future__ import annotations

import os
import struct
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import NamedTuple

from ...model.errors import AuditError

# System V gABI, "Sections" and "Symbol Table"; the x86-64 psABI and GNU's extensions where they add to it.
ET_REL, ET_EXEC = 1, 2
SHT_NULL, SHT_SYMTAB, SHT_RELA, SHT_DYNAMIC, SHT_NOTE, SHT_NOBITS, SHT_DYNSYM = 0, 2, 4, 6, 7, 8, 11
SHT_REL, SHT_CREL, SHT_ANDROID_REL, SHT_ANDROID_RELA = 9, 0x40000014, 0x60000001, 0x60000002
SHT_INIT_ARRAY, SHT_FINI_ARRAY, SHT_PREINIT_ARRAY, SHT_SYMTAB_SHNDX, SHT_RELR = 14, 15, 16, 18, 19
SHF_WRITE, SHF_ALLOC, SHF_EXECINSTR, SHF_TLS = 1, 2, 4, 0x400
SHN_UNDEF, SHN_LORESERVE, SHN_XINDEX = 0, 0xFF00, 0xFFFF
STT_NOTYPE, STT_OBJECT, STT_FUNC, STT_TLS, STT_IFUNC = 0, 1, 2, 6, 10
STB_LOCAL, STB_GLOBAL, STB_WEAK, STB_UNIQUE = 0, 1, 2, 10
STV_DEFAULT, STV_PROTECTED = 0, 3
HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
SECTION = struct.Struct("<IIQQQQIIQQ")
SYMBOL = struct.Struct("<IBBHQQ")
RELOCATION = struct.Struct("<QQq")
SHORT_RELOCATION = struct.Struct("<QQ")
RELOCATIONS = frozenset({SHT_RELA, SHT_REL, SHT_ANDROID_RELA, SHT_ANDROID_REL})
WINDOW = 1 << 20
END = 1 << 62  # no address is beyond it: a process has 2**47 bytes of its own, or 2**56 with five-level paging
LONGEST_NAME = 1 << 16


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
    def in_file(self) -> bool:
        """Whether it is loaded from the file."""
        return bool(self.flags & SHF_ALLOC) and self.type != SHT_NOBITS

    @property
    def executable(self) -> bool:
        """Whether it holds code that is loaded."""
        return self.in_file and bool(self.flags & SHF_EXECINSTR)


class ElfSymbol(NamedTuple):
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
            self._size = os.fstat(self._file.fileno()).st_size
            self._read_headers()
        except AuditError:
            self.close()
            raise
        self._window = (0, b"")

    def _fail(self, what: str, remedy: str = "") -> AuditError:
        return AuditError(f"is not an ELF file that can be read: {what}", where=self.shown, remedy=remedy)

    def _read_headers(self) -> None:
        raw = self.at_offset(0, HEADER.size)
        if raw[:4] != b"\x7fELF":
            raise self._fail("it does not start as one")
        if len(raw) < HEADER.size:
            raise self._fail("its header is cut off")
        if raw[4:6] != b"\2\1":
            raise AuditError("is not a 64-bit little-endian ELF file", where=self.shown)
        _, kind, _, _, _, _, table, _, _, _, _, entry, count, names = HEADER.unpack(raw)
        self.relocatable = kind == ET_REL
        self.fixed = kind == ET_EXEC  # its addresses are those of the process
        if not table:
            raise self._fail("it has no section headers, which tell where code is", "audit it as it was linked")
        first = self.at_offset(table, SECTION.size)
        if entry != SECTION.size or len(first) < entry:
            raise self._fail("its section headers are cut off or of an unknown size")
        # Numbers that are too large for the header are in the section that is none.
        count = count or SECTION.unpack(first)[5]
        names = SECTION.unpack(first)[6] if names == SHN_XINDEX else names
        if table + entry * count > self._size or names >= max(count, 1):
            raise self._fail("its section headers are cut off")
        headers = list(SECTION.iter_unpack(self.at_offset(table, entry * count)))
        _, kind, _, _, start, size, _, _, _, _ = headers[names]
        strings = self.at_offset(start, size) if names and kind != SHT_NOBITS else b""
        self.sections = tuple(self._sections(headers, strings))
        self._loaded = sorted(
            (
                s
                for s in self.sections
                if s.flags & SHF_ALLOC and s.size and not (s.type == SHT_NOBITS and s.flags & SHF_TLS)
            ),
            key=lambda s: s.address,
        )
        self._starts = [s.address for s in self._loaded]

    def _sections(self, headers: list[tuple[int, ...]], strings: bytes) -> Iterator[ElfSection]:
        free = 0x1000
        for index, (name, kind, flags, address, offset, size, link, info, align, _) in enumerate(headers):
            if self.relocatable and flags & SHF_ALLOC:
                address = -(-free // max(align, 1)) * max(align, 1)
                free = address + size
            end = strings.find(b"\0", name)
            shown = strings[name : end if end >= 0 else len(strings)][:LONGEST_NAME].decode(errors="replace")
            if kind not in (SHT_NULL, SHT_NOBITS) and offset + size > self._size:
                raise self._fail(f"section {shown or index} is cut off")
            if flags & SHF_ALLOC and address + size > END:
                raise self._fail(f"section {shown or index} is at an address that no process has")
            if kind == SHT_CREL:
                raise self._fail(f"section {shown or index} holds relocations in a form that is not read (CREL)")
            if (kind in (SHT_SYMTAB, SHT_DYNSYM) or kind in RELOCATIONS) and link >= len(headers):
                raise self._fail(f"section {shown or index} is linked to one that is not there")
            yield ElfSection(index, shown, kind, flags, address, offset, size, link, info)

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def __enter__(self) -> Elf:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def at_offset(self, offset: int, size: int) -> bytes:
        """Return bytes of the file, fewer where it ends."""
        size = min(size, self._size - offset)
        return os.pread(self._file.fileno(), size, offset) if size > 0 else b""

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
        tables = (s for s in self.sections if s.type == SHT_SYMTAB_SHNDX)
        return {s.link: array("I", self.at_offset(s.offset, s.size // 4 * 4)) for s in tables}

    def symbols(self, table: ElfSection | None) -> Iterator[ElfSymbol]:
        """Yield the symbols of a table, with the addresses that `read` takes."""
        if table is None:
            return
        # In pieces: the table of a large library is larger than all else that is kept of it.
        chunk = SYMBOL.size * 65536
        for start in range(0, table.size, chunk):
            raw = self.at_offset(table.offset + start, min(chunk, table.size - start))
            whole = SYMBOL.iter_unpack(raw[: len(raw) // SYMBOL.size * SYMBOL.size])
            for number, values in enumerate(whole, start // SYMBOL.size):
                yield self._symbol(table, number, *values)

    def symbol(self, table: ElfSection, number: int) -> ElfSymbol:
        """Return one symbol of a table; one that is not defined where the table has none of that number."""
        raw = self.at_offset(table.offset + number * SYMBOL.size, SYMBOL.size)
        if len(raw) < SYMBOL.size or (number + 1) * SYMBOL.size > table.size:
            return ElfSymbol(number, 0, 0, 0, 0, SHN_UNDEF, 0, 0)
        return self._symbol(table, number, *SYMBOL.unpack(raw))

    def _symbol(
        self, table: ElfSection, number: int, name: int, info: int, other: int, section: int, value: int, size: int
    ) -> ElfSymbol:
        if section == SHN_XINDEX:
            long = self._long_indexes.get(table.index, ())
            section = long[number] if number < len(long) else SHN_UNDEF
        elif section >= SHN_LORESERVE:
            section = SHN_UNDEF  # absolute, common: no code
        if section >= len(self.sections):
            section = SHN_UNDEF
        if self.relocatable and section != SHN_UNDEF:
            value = (value + self.sections[section].address) % (1 << 64)
        return ElfSymbol(number, name, info & 15, info >> 4, other & 3, section, value, size)

    def name(self, table: ElfSection, symbol: ElfSymbol) -> str:
        """Return a symbol's name."""
        if table.link >= len(self.sections):
            return ""  # no symbol table, though a relocation says so
        strings = self.sections[table.link]
        size = 256
        while True:
            start = symbol.name_offset
            raw = self.at_offset(strings.offset + start, min(size, strings.size - start))
            found, end, _ = raw.partition(b"\0")
            if end or len(raw) < size or size >= LONGEST_NAME:
                return found.decode(errors="replace")
            size *= 4

    def relocations(self, section: ElfSection) -> Iterator[tuple[int, int, int, int]]:
        """Yield (offset, type, symbol's number, addend) of a relocation section; the psABI has them with an addend.

        Without one (lld's -z rel), and packed with none, a linked file has it in the place itself.
        """
        packed = self.at_offset(section.offset, 4) == b"APS2"  # GNU strip takes away the type that says so
        if packed and not self.relocatable:
            every: Iterable[tuple[int, int, int | None]] = self._packed(section)
        elif section.type in (SHT_ANDROID_RELA, SHT_ANDROID_REL):
            raise self._fail(f"{section.name} does not start as packed relocations do")
        else:
            every = self._plain(section)
        for offset, info, addend in every:
            if addend is None:
                addend = 0 if self.relocatable else int.from_bytes(self.read(offset, 8), "little")
            yield offset, info & 0xFFFFFFFF, info >> 32 & 0xFFFFFFFF, addend

    def _plain(self, section: ElfSection) -> Iterator[tuple[int, int, int | None]]:
        form = RELOCATION if section.type == SHT_RELA else SHORT_RELOCATION
        chunk = form.size * 65536
        for start in range(0, section.size, chunk):
            raw = self.at_offset(section.offset + start, min(chunk, section.size - start))
            for offset, info, *addend in form.iter_unpack(raw[: len(raw) // form.size * form.size]):
                yield offset, info, addend[0] if addend else None

    def _packed(self, section: ElfSection) -> Iterator[tuple[int, int, int | None]]:
        """Yield (offset, info, addend) of Android's packed relocations (lld's --pack-dyn-relocs=android).

        SLEB128 numbers: how many there are, where they start, and groups, which say what their relocations have in
        common (bionic, linker/linker_reloc_iterators.h).
        """
        numbers = _sleb(self.content(section)[4:])
        try:
            left, offset = next(numbers), next(numbers)
            if left > self._size:  # a group may hold any number in a few bytes
                raise self._fail(f"{section.name} holds more relocations than there are bytes to relocate")
            addend = 0
            while left > 0:
                count, flags = next(numbers), next(numbers)
                same_info, same_step, same_addend, has_addend = (bool(flags & bit) for bit in (1, 2, 4, 8))
                step = next(numbers) if same_step else 0
                info = next(numbers) if same_info else 0
                addend = (addend + (next(numbers) if same_addend else 0)) if has_addend else 0
                if not 0 < count <= left:
                    raise self._fail(f"{section.name} holds a group of {count} relocations, but {left} are left")
                left -= count
                for _ in range(count):
                    offset += step if same_step else next(numbers)
                    info = info if same_info else next(numbers)
                    addend += next(numbers) if has_addend and not same_addend else 0
                    yield offset, info, addend if has_addend else None
        except StopIteration:
            raise self._fail(f"{section.name} is cut off") from None

    def notes(self, owner: str) -> list[bytes]:
        """Return what the notes of `owner` say."""
        found = []
        for section in self.sections:
            if section.type != SHT_NOTE and not section.name.startswith(".note"):
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


def _sleb(raw: bytes) -> Iterator[int]:
    """Yield signed LEB128 numbers (DWARF 4, 7.6)."""
    value = shift = 0
    for byte in raw:
        value |= (byte & 0x7F) << shift
        shift += 7
        if not byte & 0x80:
            yield value - (1 << shift if byte & 0x40 else 0)
            value = shift = 0
        elif shift > 70:
            return  # longer than any


def is_elf(path: Path) -> bool:
    """Return whether a file starts as ELF files do."""
    try:
        with path.open("rb") as stream:
            return stream.read(4) == b"\x7fELF"
    except OSError:
        return False
