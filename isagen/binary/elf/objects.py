"""Reading ELF object files (ELF32 and ELF64, of either byte order): sections, COMDAT groups, and symbols."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from ...model.errors import BuildError

# Names and numbers are those of the System V gABI, chapters 4 and 5.
SHT_SYMTAB, SHT_RELA, SHT_NOBITS, SHT_REL, SHT_GROUP, SHT_SYMTAB_SHNDX = 2, 4, 8, 9, 17, 18
SHF_WRITE, SHF_ALLOC, SHF_EXECINSTR = 1, 2, 4
SHN_LORESERVE, SHN_XINDEX = 0xFF00, 0xFFFF
GRP_COMDAT = 1
ET_REL = 1
STV_DEFAULT, STV_INTERNAL, STV_HIDDEN, STV_PROTECTED = range(4)
STB_WEAK, STB_GNU_UNIQUE = 2, 10
KINDS = {0: "NOTYPE", 1: "OBJECT", 2: "FUNC", 3: "SECTION", 4: "FILE", 5: "COMMON", 6: "TLS", 10: "IFUNC"}
BINDINGS = {0: "LOCAL", 1: "GLOBAL", 2: "WEAK", 10: "UNIQUE"}


class Section(NamedTuple):
    """A section header. `offset` and `size` are bytes of the file, `flags` are SHF_*, `type` is SHT_*."""

    name: str
    type: int
    flags: int
    offset: int
    size: int
    link: int
    info: int
    entsize: int

    @property
    def executable(self) -> bool:
        """Whether it holds code that is loaded."""
        return self.flags & (SHF_EXECINSTR | SHF_ALLOC) == SHF_EXECINSTR | SHF_ALLOC

    @property
    def constant(self) -> bool:
        """Whether the program never writes to it: code, read-only data, or data that only the loader relocates."""
        return not self.flags & SHF_WRITE or self.name.startswith(".data.rel.ro")


class Symbol(NamedTuple):
    """A symbol: name, kind (``FUNC``, ``OBJECT``, ``TLS``), binding (``GLOBAL``, ``WEAK``), size in bytes.

    `constant` tells that nobody writes to it, `hidden` that no other program or library can refer to it. `section` is
    the index of the section that holds it; 0 where there is none: the symbol is undefined, or (`defined`) absolute or
    common. `place` is its index in the symbol table.
    """

    name: str
    kind: str
    binding: str
    size: int
    constant: bool
    hidden: bool
    defined: bool
    section: int
    place: int


class Group(NamedTuple):
    """A COMDAT group: a linker keeps one of all that have the same signature, a symbol's `name`."""

    section: int
    signature: int
    name: str
    members: tuple[int, ...]


class ObjectFile:
    """An ELF object in memory. Raises `BuildError`, which names `path`, if `data` is not one."""

    def __init__(self, data: bytes, path: Path) -> None:
        self.data = data
        self.path = path
        try:
            self._read()
        except (struct.error, IndexError, OverflowError, ValueError) as problem:
            raise self.broken(str(problem)) from None

    @classmethod
    def load(cls, path: Path) -> ObjectFile:
        """Read the object at `path`."""
        try:
            return cls(path.read_bytes(), path)
        except OSError as problem:
            raise BuildError(f"cannot be read: {problem.strerror}", where=str(path)) from None

    def broken(self, what: str) -> BuildError:
        """Return the error that says what is wrong with this file."""
        return BuildError(
            f"is not an object file that isagen can read: {what}",
            where=str(self.path),
            remedy="kernels must be compiled to ELF objects; is link-time optimisation switched on by hand?",
        )

    def _read(self) -> None:
        data = self.data
        if data[:4] != b"\x7fELF" or data[4] not in (1, 2) or data[5] not in (1, 2):
            raise ValueError("it does not start as an ELF file does")
        self.order = "<" if data[5] == 1 else ">"
        self.wide = data[4] == 2
        self.header_format = self.order + ("IIQQQQIIQQ" if self.wide else "IIIIIIIIII")
        self.symbol_format = self.order + ("IBBHQQ" if self.wide else "IIIBBH")
        self.symbol_size: int = struct.calcsize(self.symbol_format)
        words = struct.unpack_from(self.order + ("HHIQQQIHHHHHH" if self.wide else "HHIIIIIHHHHHH"), data, 16)
        if words[0] != ET_REL:
            raise ValueError("it is a program or library, not an object")
        self.headers_at: int = words[5]
        self.header_size: int = words[10]
        count, names = words[11], words[12]
        if not self.headers_at:
            raise ValueError("it has no sections")
        first = self._header(0)
        count, names = count or first[5], first[6] if names == SHN_XINDEX else names
        headers = [self._header(index) for index in range(count)]
        self.names_section = names
        table = data[headers[names][4] : headers[names][4] + headers[names][5]]
        self.sections = [
            Section(_text(table, name), kind, flags, offset, size, link, info, entry)
            for name, kind, flags, _, offset, size, link, info, _, entry in headers
        ]
        for section in self.sections[1:]:
            if section.type != SHT_NOBITS and section.offset + section.size > len(data):
                raise ValueError("it is cut off")
        self.symbol_section = next((i for i, s in enumerate(self.sections) if s.type == SHT_SYMTAB), 0)
        self.groups = tuple(self._groups())
        self.symbols = tuple(self._symbols())
        symbols = self.sections[self.symbol_section].size // self.symbol_size
        if any(group.signature >= symbols or max(group.members, default=0) >= count for group in self.groups):
            raise ValueError("a group refers to what is not there")

    def _header(self, index: int) -> tuple[int, ...]:
        return struct.unpack_from(self.header_format, self.data, self.headers_at + index * self.header_size)

    def _groups(self) -> Iterator[Group]:
        for index, section in enumerate(self.sections):
            if section.type == SHT_GROUP:
                words = struct.unpack_from(f"{self.order}{section.size // 4}I", self.data, section.offset)
                if words[0] & GRP_COMDAT:
                    yield Group(index, section.info, self._name_of(section.info), words[1:])

    def _symbols(self) -> Iterator[Symbol]:
        """Yield the symbols that are not local; those come first, and their number is the table's `info`."""
        if not self.symbol_section:
            return
        table = self.sections[self.symbol_section]
        strings = self.sections[table.link]
        text = self.data[strings.offset : strings.offset + strings.size]
        far = self._far_places()
        wanted = self.data[table.offset + table.info * self.symbol_size : table.offset + table.size]
        constant = [section.constant for section in self.sections]
        for index, words in enumerate(struct.iter_unpack(self.symbol_format, wanted), table.info):
            if self.wide:
                name, info, other, where, _, length = words
            else:
                name, _, length, info, other, where = words
            section = where
            if where == SHN_XINDEX and far:
                section = far[index]
            elif where >= SHN_LORESERVE:
                section = 0
            kind, binding = info & 15, info >> 4
            yield Symbol(
                _text(text, name),
                KINDS.get(kind, str(kind)),
                BINDINGS.get(binding, str(binding)),
                length,
                section != 0 and constant[section],
                other & 3 in (STV_INTERNAL, STV_HIDDEN),
                where != 0,
                section,
                index,
            )

    def _name_of(self, index: int) -> str:
        table = self.sections[self.symbol_section]
        strings = self.sections[table.link]
        words = struct.unpack_from(self.symbol_format, self.data, table.offset + index * self.symbol_size)
        return _text(self.data, strings.offset + words[0])

    def _far_places(self) -> tuple[int, ...]:
        """Return the sections of symbols in files with more sections than a symbol can name; else nothing."""
        for section in self.sections:
            if section.type == SHT_SYMTAB_SHNDX:
                return struct.unpack_from(f"{self.order}{section.size // 4}I", self.data, section.offset)
        return ()


def _text(table: bytes, start: int) -> str:
    return table[start : table.index(0, start)].decode(errors="surrogateescape")
