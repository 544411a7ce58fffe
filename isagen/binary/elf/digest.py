"""Computes the digest of an object's code, data, relocations, and the names by which other objects refer to it."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from functools import cache, partial
from hashlib import blake2b

from ..object_file import DIGEST_SIZE
from ..protocol import Binding, SymbolKind
from . import layout as e
from .entries import ARRAY_NAMES, ElfSymbol
from .reader import Elf
from .relocations import relocations

RELOCATION = struct.Struct("<QQq")  # offset, type, addend


def object_digest(elf: Elf, prefixes: Sequence[str]) -> str:
    """Return a digest of the loaded sections of an object, their relocations and the global symbols.

    The names of sections and of local symbols do not affect the digest. A name's prefix that is in `prefixes`, which
    differ from level to level, is replaced by its index there.
    """
    loaded = [section for section in elf.sections if section.flags & e.SHF_ALLOC]
    numbers = {section.index: number for number, section in enumerate(loaded)}
    digest = blake2b(digest_size=DIGEST_SIZE)
    for section in loaded:
        values = section.type, section.flags & ~e.SHF_GROUP, section.size, section.alignment
        digest.update(struct.pack("<QQQQ?", *values, section.constant))
        if section.name.startswith(tuple(ARRAY_NAMES)):  # the name contains the priority of the array's functions
            digest.update(section.name.encode(errors="surrogateescape"))
        digest.update(elf.content(section))
    for content in sorted(_global_symbols(elf, prefixes, numbers)):
        digest.update(content)
    target = cache(partial(_target, elf, numbers))
    for section in elf.sections:
        if section.type in (e.SHT_RELA, e.SHT_REL, e.SHT_CREL) and section.info in numbers:
            digest.update(struct.pack("<Q", numbers[section.info]))
            if section.type == e.SHT_CREL:  # not decoded, so the digest depends on the order of symbols too
                digest.update(elf.content(section))
            else:
                for offset, kind, number, addend in relocations(elf, section):
                    digest.update(RELOCATION.pack(offset, kind, addend) + target(section.link, number))
    return digest.hexdigest()


def _global_symbols(elf: Elf, prefixes: Sequence[str], numbers: dict[int, int]) -> Iterator[bytes]:
    """Yield each global symbol as bytes: name, visibility, binding, and its position if the object defines it."""
    for symbol in elf.symbols():
        if symbol.binding != Binding.LOCAL:
            name = elf.name(symbol)
            index = next((index for index, prefix in enumerate(prefixes) if name.startswith(prefix)), -1)
            name = name.removeprefix(prefixes[index]) if index >= 0 else name
            attributes = struct.pack("<bBB", index, symbol.visibility, symbol.binding)
            position = _position(elf, symbol, numbers) if symbol.section in numbers else b""
            yield name.encode(errors="surrogateescape") + b"\0" + attributes + position


def _target(elf: Elf, numbers: dict[int, int], table: int, number: int) -> bytes:
    """Return the symbol of a relocation as bytes: its position in the object, or its name and attributes."""
    symbol = elf.symbol_of(elf.sections[table], number)
    if symbol.section in numbers:
        return _position(elf, symbol, numbers)
    # The address of an absolute symbol is its value, that of a common one its alignment.
    values = struct.pack("<QQ?", symbol.address % (1 << 64), symbol.size, symbol.binding == Binding.WEAK)
    if symbol.section:  # this section is not loaded
        values += elf.sections[symbol.section].name.encode(errors="surrogateescape") + b"\0"
    return values + elf.name(symbol).encode(errors="surrogateescape") + b"\0"


def _position(elf: Elf, symbol: ElfSymbol, numbers: dict[int, int]) -> bytes:
    """Return the position of a defined symbol: its section's number, its offset there, and whether it is an ifunc."""
    offset = symbol.address - elf.sections[symbol.section].address
    return struct.pack("<QQ?", numbers[symbol.section], offset % (1 << 64), symbol.kind == SymbolKind.RESOLVER)
