"""Whether two objects have the same code, data and relocations, although their symbols have other names."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterator

from ..protocol import Binding, Kind
from . import layout as e
from .reader import Elf
from .relocations import relocations
from .values import ElfSection, ElfSymbol

DIGEST_SIZE = 8  # bytes; a build has thousands of objects, and 2**-64 per pair is no accident to expect
# They describe code to debuggers and to those that unwind the stack, and change nothing of what it does.
DESCRIPTIONS = (".eh_frame", ".note")
# Arrays of functions whose order at load is in the names of the sections: .init_array.00101.
ORDERED = (".init_array", ".fini_array", ".ctors", ".dtors")


def digest_of(elf: Elf, mark: str = "") -> str:
    """Return a digest of what an object loads: names of symbols and sections that it defines do not count.

    Of symbols whose names start with `mark`, the rest of the name and the place count.
    """
    kept = [s for s in elf.sections if s.flags & e.SHF_ALLOC and not s.name.startswith(DESCRIPTIONS)]
    place = {section.index: number for number, section in enumerate(kept)}
    found = hashlib.blake2b(digest_size=DIGEST_SIZE)
    for section in kept:
        values = section.type, section.flags & ~e.SHF_GROUP, section.size, _alignment(elf, section)
        found.update(struct.pack("<QQQQ", *values))
        found.update(section.name.encode(errors="surrogateescape") if section.name.startswith(ORDERED) else b"")
        found.update(elf.content(section))
    for piece in sorted(_marked(elf, mark, place)) if mark else ():
        found.update(piece)
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
            yield _target(elf, symbol, place)
        else:  # the address is the value of one that is absolute, and the alignment of one that is common
            yield struct.pack("<QQ?", symbol.address, symbol.size, symbol.binding == Binding.WEAK)
            yield elf.name(symbol).encode(errors="surrogateescape") + b"\0"


def _marked(elf: Elf, mark: str, place: dict[int, int]) -> Iterator[bytes]:
    """Yield the rest of the name, and the place, of each defined symbol whose name starts with `mark`."""
    for symbol in elf.symbols():
        if symbol.section in place and (name := elf.name(symbol)).startswith(mark):
            yield name.removeprefix(mark).encode(errors="surrogateescape") + b"\0" + _target(elf, symbol, place)


def _target(elf: Elf, symbol: ElfSymbol, place: dict[int, int]) -> bytes:
    """Return what a symbol of the object refers to; of one that a resolver stands behind, that it does."""
    offset = symbol.address - elf.sections[symbol.section].address
    return struct.pack("<QQ?", place[symbol.section], offset % (1 << 64), symbol.kind == Kind.RESOLVER)


def _alignment(elf: Elf, section: ElfSection) -> int:
    """Return a section's alignment: code may load from data by instructions that need it."""
    form = elf.layout.section
    alignment: int = form.unpack(elf.at_offset(elf.headers_at + section.index * form.size, form.size))[8]
    return alignment
