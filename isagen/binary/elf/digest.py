"""Whether two objects are the same: code, data, relocations, and the names by which other objects refer to them."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from functools import cache, partial
from hashlib import blake2b

from ..protocol import Binding, SymbolKind
from . import layout as e
from .entries import ElfSymbol
from .reader import Elf
from .relocations import relocations

DIGEST_SIZE = 8  # bytes; a build has thousands of objects, and 2**-64 per pair is no accident to expect
# Arrays of functions whose order at load is in the names of the sections: .init_array.00101.
ORDERED = (".init_array", ".fini_array", ".ctors", ".dtors")
RELOCATION = struct.Struct("<QQq")  # offset, type, addend


def digest_of(elf: Elf, marks: Sequence[str]) -> str:
    """Return a digest of the loaded sections of an object, their relocations and the global symbols.

    Names of sections and of local symbols do not count, nor do the prefixes in `marks`, which differ from level to
    level.
    """
    loaded = [section for section in elf.sections if section.flags & e.SHF_ALLOC]
    place = {section.index: number for number, section in enumerate(loaded)}
    found = blake2b(digest_size=DIGEST_SIZE)
    for section in loaded:
        values = section.type, section.flags & ~e.SHF_GROUP, section.size, section.alignment
        found.update(struct.pack("<QQQQ?", *values, section.constant))
        found.update(section.name.encode(errors="surrogateescape") if section.name.startswith(ORDERED) else b"")
        found.update(elf.content(section))
    for piece in sorted(_named(elf, marks, place)):
        found.update(piece)
    target = cache(partial(_target, elf, place))
    for section in elf.sections:
        if section.type in (e.SHT_RELA, e.SHT_REL, e.SHT_CREL) and section.info in place:
            found.update(struct.pack("<Q", place[section.info]))
            if section.type == e.SHT_CREL:  # not decoded: objects with other numbers of symbols then differ
                found.update(elf.content(section))
            else:
                for offset, kind, number, addend in relocations(elf, section):
                    found.update(RELOCATION.pack(offset, kind, addend) + target(section.link, number))
    return found.hexdigest()


def _target(elf: Elf, place: dict[int, int], table: int, number: int) -> bytes:
    """Return what a symbol refers to: a place in the object, or else its name and properties."""
    symbol = elf.symbol_of(elf.sections[table], number)
    if symbol.section in place:
        return _place_of(elf, symbol, place)
    # The address of an absolute symbol is its value, that of a common one its alignment.
    values = struct.pack("<QQ?", symbol.address % (1 << 64), symbol.size, symbol.binding == Binding.WEAK)
    if symbol.section:  # of what is not loaded
        values += elf.sections[symbol.section].name.encode(errors="surrogateescape") + b"\0"
    return values + elf.name(symbol).encode(errors="surrogateescape") + b"\0"


def _named(elf: Elf, marks: Sequence[str], place: dict[int, int]) -> Iterator[bytes]:
    """Yield what is said of each global symbol: its name without a mark, and its place where the object defines it."""
    for symbol in elf.symbols():
        if symbol.binding != Binding.LOCAL:
            name = elf.name(symbol)
            number = next((number for number, mark in enumerate(marks) if name.startswith(mark)), -1)
            name = name.removeprefix(marks[number]) if number >= 0 else name
            said = struct.pack("<bBB", number, symbol.visibility, symbol.binding)
            there = _place_of(elf, symbol, place) if symbol.section in place else b""
            yield name.encode(errors="surrogateescape") + b"\0" + said + there


def _place_of(elf: Elf, symbol: ElfSymbol, place: dict[int, int]) -> bytes:
    """Return the place of a symbol that the object defines, and whether it is a resolver (ifunc)."""
    offset = symbol.address - elf.sections[symbol.section].address
    return struct.pack("<QQ?", place[symbol.section], offset % (1 << 64), symbol.kind == SymbolKind.RESOLVER)
