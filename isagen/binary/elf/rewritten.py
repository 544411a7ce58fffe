"""Writing ELF objects: one with a note added, or an empty one for the same processor and ABI."""

from __future__ import annotations

import struct

from . import layout as e
from .notes import note_of
from .objects import ElfObject

SECTION = b".note.isagen\0"
ALIGNMENT = 4
# Properties that a linker combines from all objects: a stack without code, branch protection, the processor's ABI.
STATEMENTS = (".note.GNU-stack", ".note.gnu.property")
# SHT_ARM_ATTRIBUTES, SHT_RISCV_ATTRIBUTES and others of one number; SHT_MIPS_ABIFLAGS; SHT_GNU_ATTRIBUTES.
ATTRIBUTES = frozenset({0x70000003, 0x7000002A, 0x6FFFFFF5})
NAMES = ".shstrtab"


def note_added(file: ElfObject, owner: str, text: bytes) -> bytes:
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
    layout, elf = file.elf.layout, file.elf
    data, names = bytearray(file.data[: layout.header.size]), b"\0"
    headers: list[tuple[int, ...]] = [(0,) * 10]
    for section in file.sections:
        if section.name in STATEMENTS or section.type in ATTRIBUTES:
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
    # e_phoff, e_shoff; then e_phnum, e_shnum and e_shstrndx at the end
    fields[5:7] = 0, len(data)
    fields[-4], fields[-2:] = 0, (len(headers), len(headers) - 1)
    layout.header.pack_into(data, 0, *fields)
    return bytes(data) + b"".join(layout.section.pack(*header) for header in headers)
