"""Adding a note to an ELF object: a section at its end, and section headers with one more entry behind it."""

from __future__ import annotations

import struct

from . import layout as e
from .notes import note_of
from .objects import ElfObject

SECTION = b".note.isagen\0"
ALIGNMENT = 4


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
