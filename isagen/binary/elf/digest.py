"""Whether two objects have the same code, data and relocations, although their symbols have other names."""

from __future__ import annotations

import struct
from collections.abc import Collection, Iterator

from ...model.digests import blake2b
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
RELOCATION = struct.Struct("<QQq")  # offset, type, addend


def digest_of(elf: Elf, mark: str = "", names: Collection[str] | None = None) -> str:
    """Return a digest of what an object loads: names of symbols and sections that it defines do not count.

    Of symbols whose names start with `mark`, the rest of the name and the place count. With `names`, those of global
    symbols, their places count too, and so do descriptions of code, and what the object refers to.
    """
    loaded = [section for section in elf.sections if section.flags & e.SHF_ALLOC]
    kept = [one for one in loaded if names is not None or not one.name.startswith(DESCRIPTIONS)]
    place = {section.index: number for number, section in enumerate(kept)}
    found = blake2b(digest_size=DIGEST_SIZE)
    for section in kept:
        values = section.type, section.flags & ~e.SHF_GROUP, section.size, section.alignment
        found.update(struct.pack("<QQQQ?", *values, section.constant))
        found.update(section.name.encode(errors="surrogateescape") if section.name.startswith(ORDERED) else b"")
        found.update(elf.content(section))
    for piece in sorted(_marked(elf, mark, place)) if mark else ():
        found.update(piece)
    for piece in sorted(_named(elf, names, place)) if names is not None else ():
        found.update(piece)
    said = _Relocations(elf, place)
    for section in elf.sections:
        if section.type in (e.SHT_RELA, e.SHT_REL, e.SHT_CREL) and section.info in place:
            found.update(struct.pack("<Q", place[section.info]))
            if section.type == e.SHT_CREL:  # not decoded: objects with other numbers of symbols then differ
                found.update(elf.content(section))
            else:
                found.update(said.of(section))
    return found.hexdigest()


class _Relocations:
    """What the relocations of one object say; `place` is the number of each section that is loaded."""

    def __init__(self, elf: Elf, place: dict[int, int]) -> None:
        self._elf = elf
        self._place = place
        self._targets: dict[tuple[int, int], bytes] = {}  # by the symbol's table and number

    def of(self, section: ElfSection) -> bytes:
        """Return what the relocations of a section say, in order."""
        if section.link >= len(self._elf.sections):
            return b""
        targets, pack, link = self._targets, RELOCATION.pack, section.link
        found: list[bytes] = []
        for offset, kind, number, addend in relocations(self._elf, section):
            target = targets.get((link, number))
            if target is None:
                target = targets[link, number] = self._target(link, number)
            found += (pack(offset, kind, addend), target)
        return b"".join(found)

    def _target(self, table: int, number: int) -> bytes:
        """Return what a symbol refers to, by its name only where the object has no more."""
        elf = self._elf
        symbol = elf.symbol_of(elf.sections[table], number)
        if symbol.section in self._place:
            return _place_of(elf, symbol, self._place)
        # The address is the value of one that is absolute, and the alignment of one that is common.
        values = struct.pack("<QQ?", symbol.address % (1 << 64), symbol.size, symbol.binding == Binding.WEAK)
        if symbol.section:  # of what is not loaded, or a description
            values += elf.sections[symbol.section].name.encode(errors="surrogateescape") + b"\0"
        return values + elf.name(symbol).encode(errors="surrogateescape") + b"\0"


def _marked(elf: Elf, mark: str, place: dict[int, int]) -> Iterator[bytes]:
    """Yield the rest of the name, and the place, of each defined symbol whose name starts with `mark`."""
    table = elf.symbol_table
    if table is None:
        return
    start = mark.encode(errors="surrogateescape")
    names = elf.content(elf.sections[table.link])
    for symbol in elf.symbols():
        if symbol.section in place and names.startswith(start, symbol.name_offset):
            name = elf.name(symbol).removeprefix(mark)
            yield name.encode(errors="surrogateescape") + b"\0" + _place_of(elf, symbol, place)


def _named(elf: Elf, names: Collection[str], place: dict[int, int]) -> Iterator[bytes]:
    """Yield what is said of each global symbol that is not defined, or has one of the `names`."""
    for symbol in elf.symbols():
        if symbol.binding == Binding.LOCAL:
            continue
        name = elf.name(symbol)
        said = name.encode(errors="surrogateescape") + struct.pack("<BB", symbol.visibility, symbol.binding)
        if not symbol.section:
            yield said
        elif symbol.section in place and name in names:
            yield said + _place_of(elf, symbol, place)


def _place_of(elf: Elf, symbol: ElfSymbol, place: dict[int, int]) -> bytes:
    """Return what a symbol of the object refers to; of one that a resolver stands behind, that it does."""
    offset = symbol.address - elf.sections[symbol.section].address
    return struct.pack("<QQ?", place[symbol.section], offset % (1 << 64), symbol.kind == Kind.RESOLVER)
