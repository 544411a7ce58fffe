"""Writes ELF objects: a copy of an object with a note, or an empty object for the same processor and ABI."""

from __future__ import annotations

from ..notes import note_of
from . import layout as e
from .objects import ElfObject

SECTION = b".note.isagen\0"
ALIGNMENT = 4
# Sections that an emptied object retains, because a linker combines those of all objects: PROPERTIES (non-executable
# stack, branch protection) and ATTRIBUTES (the processor's ABI).
PROPERTIES = (".note.GNU-stack", ".note.gnu.property")
# SHT_ARM_ATTRIBUTES and SHT_RISCV_ATTRIBUTES, which have the same number; SHT_MIPS_ABIFLAGS; SHT_GNU_ATTRIBUTES.
ATTRIBUTES = frozenset({0x70000003, 0x7000002A, 0x6FFFFFF5})
NAMES = ".shstrtab"


def with_note(content: bytes, owner: str, text: bytes) -> bytes:
    """Return the content of an object with an added note of this owner and text."""
    file = ElfObject(content, "object")
    layout, elf = file.file.layout, file.file
    note = note_of(owner, text, layout.byteorder)
    data = bytearray(file.data)
    names = elf.sections[elf.names_section]
    table = elf.data[elf.headers_at :][: len(file.sections) * layout.section.size]
    headers = [list(header) for header in layout.section.iter_unpack(table)]

    headers[names.index][4:6] = len(data), names.size + len(SECTION)
    data += elf.content(names) + SECTION
    _align(data, ALIGNMENT)
    headers.append([names.size, e.SHT_NOTE, e.SHF_ALLOC, 0, len(data), len(note), 0, 0, ALIGNMENT, 0])
    data += note
    _align(data, layout.word)
    fields = list(layout.header.unpack_from(data))
    fields[6] = len(data)  # e_shoff
    if len(headers) >= e.SHN_LORESERVE:  # section 0 contains the number of sections
        headers[0][5], fields[-2] = len(headers), 0
    else:
        fields[-2] = len(headers)  # e_shnum
    layout.header.pack_into(data, 0, *fields)
    return bytes(data) + b"".join(layout.section.pack(*header) for header in headers)


def _align(data: bytearray, size: int) -> None:
    data += b"\0" * (-len(data) % size)


def emptied(file: ElfObject) -> bytes:
    """Return an object for the same processor and ABI that defines nothing and refers to nothing."""
    layout, elf = file.file.layout, file.file
    data, names = bytearray(file.data[: layout.header.size]), b"\0"
    headers: list[tuple[int, ...]] = [(0,) * 10]
    for section in file.sections:
        if section.name in PROPERTIES or section.type in ATTRIBUTES:
            alignment = max(section.alignment, 1)
            _align(data, alignment)
            place = len(names), section.type, section.flags, 0, len(data), section.size
            headers.append((*place, 0, 0, alignment, 0))
            names += section.name.encode() + b"\0"
            data += elf.content(section)
    headers.append((len(names), e.SHT_STRTAB, 0, 0, len(data), len(names) + len(NAMES) + 1, 0, 0, 1, 0))
    data += names + NAMES.encode() + b"\0"
    _align(data, layout.word)
    fields = list(layout.header.unpack_from(data))
    fields[5:7] = 0, len(data)  # e_phoff, e_shoff
    fields[-4], fields[-2:] = 0, (len(headers), len(headers) - 1)  # e_phnum; e_shnum, e_shstrndx
    layout.header.pack_into(data, 0, *fields)
    return bytes(data) + b"".join(layout.section.pack(*header) for header in headers)
