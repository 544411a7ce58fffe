"""Whether two objects have the same code, data and relocations, although their symbols have other names."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterator

from . import layout as e
from .reader import Elf
from .relocations import relocations
from .values import ElfSection

DIGEST_SIZE = 8  # bytes; a build has thousands of objects, and 2**-64 per pair is no accident to expect
# They describe code to debuggers and to those that unwind the stack, and change nothing of what it does.
DESCRIPTIONS = (".eh_frame", ".note")


def digest_of(elf: Elf) -> str:
    """Return a digest of what an object loads: names of symbols and sections that it defines do not count."""
    kept = [s for s in elf.sections if s.flags & e.SHF_ALLOC and not s.name.startswith(DESCRIPTIONS)]
    place = {section.index: number for number, section in enumerate(kept)}
    found = hashlib.blake2b(digest_size=DIGEST_SIZE)
    for section in kept:
        found.update(struct.pack("<QQQ", section.type, section.flags & ~e.SHF_GROUP, section.size))
        found.update(elf.content(section))
    for section in elf.sections:
        if section.type in (e.SHT_RELA, e.SHT_REL, e.SHT_CREL) and section.info in place:
            found.update(struct.pack("<Q", place[section.info]))
            if section.type == e.SHT_CREL:  # not decoded: objects with other numbers of symbols then differ
                found.update(elf.content(section))
                continue
            for piece in _relocations(elf, section, place):
                found.update(piece)
    return found.hexdigest()


def _relocations(elf: Elf, section: ElfSection, place: dict[int, int]) -> Iterator[bytes]:
    """Yield what each relocation of a section says; what it refers to by name only where the object has no more."""
    if section.link >= len(elf.sections):
        return
    table = elf.sections[section.link]
    for offset, kind, number, addend in relocations(elf, section):
        symbol = elf.symbol_of(table, number)
        yield struct.pack("<QQq", offset, kind, addend)
        if symbol.section in place:
            target = symbol.address - elf.sections[symbol.section].address
            yield struct.pack("<QQ", place[symbol.section], target)
        else:
            yield elf.name(symbol).encode(errors="surrogateescape") + b"\0"
