"""ELF objects written anew: with a note, without code and data in the place of another, or of sections of our own."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import NamedTuple

from ...model.errors import BuildError
from ..protocol import Variable
from . import layout as e
from .machines import POINTER_RELOCATIONS
from .notes import note_of
from .objects import ElfObject

SECTION = b".note.isagen\0"
ALIGNMENT = 4
# What an object says of itself to the linker, which goes by what all objects say: a stack without code, branch
# protection, the ABI of the processor.
STATEMENTS = (".note.GNU-stack", ".note.gnu.property")
# SHT_ARM_ATTRIBUTES, SHT_RISCV_ATTRIBUTES and others of one number; SHT_MIPS_ABIFLAGS; SHT_GNU_ATTRIBUTES.
ATTRIBUTES = frozenset({0x70000003, 0x7000002A, 0x6FFFFFF5})
NAMES = ".shstrtab"
# Of an object of variables, the sections by number. The loader fills in what is in the first.
POINTED, _, CONSTANTS, ZEROS, SYMBOLS, STRINGS = range(1, 7)
# The name of the symbol for the section of constants, where texts are. It is local, as is the first symbol, of nothing.
TEXTS = ""
LOCALS = 2


def with_note(file: ElfObject, owner: str, text: bytes) -> bytes:
    """Return the content of the object with a note of `owner` that says `text`."""
    layout, elf = file.elf.layout, file.elf
    note = note_of(owner, text, layout.byteorder)
    data = bytearray(file.data)
    names = elf.sections[elf.names_section]
    headers = [list(one) for one in layout.section.iter_unpack(_headers(file))]

    headers[names.index][4:6] = len(data), names.size + len(SECTION)
    data += elf.content(names) + SECTION
    _align(data, ALIGNMENT)
    headers.append([names.size, e.SHT_NOTE, e.SHF_ALLOC, 0, len(data), len(note), 0, 0, ALIGNMENT, 0])
    data += note
    _align(data, layout.word)
    start, count = len(data), len(headers)
    if count >= e.SHN_LORESERVE:  # the number of sections is in the header of the section that is none
        headers[0][5], count = count, 0
    data += b"".join(layout.section.pack(*one) for one in headers)
    place = (40, 60) if layout.wide else (32, 48)
    struct.pack_into(layout.order + ("Q" if layout.wide else "I"), data, place[0], start)
    struct.pack_into(layout.order + "H", data, place[1], count)
    return bytes(data)


def _headers(file: ElfObject) -> bytes:
    start = file.elf.headers_at
    return file.data[start : start + len(file.sections) * file.elf.layout.section.size]


def _align(data: bytearray, size: int) -> None:
    data += b"\0" * (-len(data) % size)


def emptied(file: ElfObject) -> bytes:
    """Return an object for the same processor and ABI that defines nothing and refers to nothing."""
    return assembled(file, ())


class Part(NamedTuple):
    """A section of an object that is written anew; `size` is that of its `content`, or of what is zero without any."""

    name: str
    type: int
    flags: int
    content: bytes
    size: int
    link: int
    info: int
    alignment: int
    entry_size: int


def assembled(file: ElfObject, parts: Sequence[Part]) -> bytes:
    """Return an object of these sections, numbered from 1, which says of itself what `file` says to the linker."""
    layout, elf = file.elf.layout, file.elf
    kept = [s for s in file.sections if s.name in STATEMENTS or s.type in ATTRIBUTES]
    statements = (Part(s.name, s.type, s.flags, elf.content(s), s.size, 0, 0, s.alignment, 0) for s in kept)
    data, names = bytearray(file.data[: layout.header.size]), b"\0"
    headers: list[tuple[int, ...]] = [(0,) * 10]
    for part in (*parts, *statements):
        alignment = max(part.alignment, 1)
        _align(data, alignment)
        place = len(names), part.type, part.flags, 0, len(data), part.size
        headers.append((*place, part.link, part.info, alignment, part.entry_size))
        names += part.name.encode() + b"\0"
        data += part.content
    headers.append((len(names), e.SHT_STRTAB, 0, 0, len(data), len(names) + len(NAMES) + 1, 0, 0, 1, 0))
    data += names + NAMES.encode() + b"\0"
    _align(data, layout.word)
    fields = list(layout.header.unpack_from(data))
    # e_phoff, e_shoff; then e_phnum, e_shnum and e_shstrndx at the end
    fields[5:7] = 0, len(data)
    fields[-4], fields[-2:] = 0, (len(headers), len(headers) - 1)
    layout.header.pack_into(data, 0, *fields)
    return bytes(data) + b"".join(layout.section.pack(*header) for header in headers)


def with_variables(file: ElfObject, variables: Sequence[Variable]) -> bytes:
    """Return an object that defines the `variables`, for the same processor and ABI as `file`.

    They, and the names that they point to, are hidden: known inside one program or library.
    """
    made = _Variables(file)
    for variable in variables:
        made.define(variable)
    return assembled(file, made.parts())


class _Variables:
    def __init__(self, file: ElfObject) -> None:
        self._layout = layout = file.elf.layout
        found = POINTER_RELOCATIONS.get((file.elf.machine, 8 * layout.word, layout.byteorder))
        if found is None:
            raise BuildError(
                "is for a processor for which isagen writes no tables",
                where=str(file.path),
                remedy="configure a new build folder: this one was configured for another processor",
            )
        self._pointer = found
        self._pointed, self._constants, self._zeros = bytearray(), bytearray(), 0
        self._names, self._symbols = bytearray(b"\0"), bytearray(layout.symbol.size)
        self._numbers: dict[str, int] = {}  # of symbols
        self._add(TEXTS, e.STT_SECTION, CONSTANTS, 0, 0)
        self._targets: list[tuple[int, str, int]] = []  # where a pointer is, to what name, and how far behind it

    def define(self, variable: Variable) -> None:
        """Lay out a variable."""
        if variable.pointers:
            section, start = POINTED, len(self._pointed)
            for pointer in variable.pointers:
                self._point(pointer)
            size = len(self._pointed) - start
        elif variable.numbers:
            self._constants += b"\0" * (-len(self._constants) % 4)
            section, start, size = CONSTANTS, len(self._constants), 4 * len(variable.numbers)
            self._constants += b"".join(number.to_bytes(4, self._layout.byteorder) for number in variable.numbers)
        else:
            section, start, size = ZEROS, self._zeros, variable.zeros
            self._zeros += size + -size % 8
        self._add(variable.name, e.STT_OBJECT, section, start, size)

    def _point(self, pointer: str | bytes | None) -> None:
        if isinstance(pointer, bytes):
            self._targets.append((len(self._pointed), TEXTS, len(self._constants)))
            self._constants += pointer + b"\0"
        elif pointer is not None:
            self._targets.append((len(self._pointed), pointer, 0))
        self._pointed += bytes(self._layout.word)

    def _add(self, name: str, kind: int, section: int, start: int, size: int) -> None:
        """Add a symbol."""
        place, info, other = 0, kind, e.STV_DEFAULT
        if name != TEXTS:
            place, info, other = len(self._names), (e.STB_GLOBAL << 4) + kind, e.STV_HIDDEN
            self._names += name.encode(errors="surrogateescape") + b"\0"
        self._numbers[name] = len(self._symbols) // self._layout.symbol.size
        self._symbols += self._layout.symbol.pack(place, info, other, section, start, size)

    def _relocations(self) -> bytes:
        """Return the relocations, with symbols for the names that are not defined here."""
        layout, found = self._layout, bytearray()
        for place, name, behind in self._targets:
            if name not in self._numbers:
                self._add(name, e.STT_NOTYPE, e.SHN_UNDEF, 0, 0)
            info = (self._numbers[name] << layout.symbol_shift) + self._pointer
            found += layout.relocation(addend=True).pack(place, info, behind)
        return bytes(found)

    def parts(self) -> list[Part]:
        """Return the sections, in the order of their numbers."""
        layout, relocations = self._layout, self._relocations()
        word, entry, written = layout.word, layout.relocation(addend=True).size, e.SHF_ALLOC | e.SHF_WRITE
        pointed, constants, symbols, names = map(bytes, (self._pointed, self._constants, self._symbols, self._names))
        return [
            Part(".data.rel.ro", e.SHT_PROGBITS, written, pointed, len(pointed), 0, 0, word, 0),
            Part(
                *(".rela.data.rel.ro", e.SHT_RELA, e.SHF_INFO_LINK, relocations, len(relocations)),
                *(SYMBOLS, POINTED, word, entry),
            ),
            Part(".rodata", e.SHT_PROGBITS, e.SHF_ALLOC, constants, len(constants), 0, 0, 4, 0),
            Part(".bss", e.SHT_NOBITS, written, b"", self._zeros, 0, 0, 8, 0),
            Part(".symtab", e.SHT_SYMTAB, 0, symbols, len(symbols), STRINGS, LOCALS, word, layout.symbol.size),
            Part(".strtab", e.SHT_STRTAB, 0, names, len(names), 0, 0, 1, 0),
            # GNU ld takes objects in the order of their first sections, and reports what one lacks then: code is first.
            Part(".text", e.SHT_PROGBITS, e.SHF_ALLOC | e.SHF_EXECINSTR, b"", 0, 0, 0, 1, 0),
        ]
