"""What single functions and constants of an object are made of, and whether an object holds more than those."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Collection
from functools import cached_property

from . import layout as e
from .digest import DIGEST_SIZE, ORDERED
from .reader import Elf
from .relocations import relocations
from .values import ElfSection, ObjectSymbol

# Their parts from all objects make one function each, in the order of the link.
WHOLE_SECTIONS = (".init", ".fini")
FUNCTION_ARRAYS = frozenset({e.SHT_INIT_ARRAY, e.SHT_FINI_ARRAY, e.SHT_PREINIT_ARRAY})
VALUES = struct.Struct("<QQQQ")
PLACE = struct.Struct("<QQ")
RELOCATION = struct.Struct("<QQq")  # offset, type, addend


class Fingerprints:
    """The fingerprints of what an object defines: equal for equal bytes and relocations, names of local things aside.

    What a definition refers to by a global name counts by that name; what has no such name counts with its content.
    """

    def __init__(self, elf: Elf) -> None:
        self._elf = elf
        self._parts: dict[int, tuple[bytes, tuple[tuple[bytes, int, int, bytes], ...]]] = {}

    def of(self, section: int, address: int) -> str:
        """Return the fingerprint of what is at an address of a section."""
        number = {section: 0}  # sections, in the order in which they are found
        found = hashlib.blake2b(digest_size=DIGEST_SIZE)
        found.update(PLACE.pack(0, self._offset(section, address)))
        waiting = [section]
        for index in waiting:
            content, references = self._part(index)
            found.update(content)
            for entry, target, offset, name in references:
                if target and target not in number:
                    number[target] = len(waiting)
                    waiting.append(target)
                found.update(entry + (PLACE.pack(number[target], offset) if target else name))
        return found.hexdigest()

    def _offset(self, section: int, address: int) -> int:
        return (address - self._elf.sections[section].address) % (1 << 64)

    def _part(self, index: int) -> tuple[bytes, tuple[tuple[bytes, int, int, bytes], ...]]:
        """Return a digest of a section's bytes, and its relocations: each with a section and an offset, or a name."""
        if index not in self._parts:
            section = self._elf.sections[index]
            content = hashlib.blake2b(self._elf.content(section), digest_size=DIGEST_SIZE)
            content.update(VALUES.pack(section.type, section.flags & ~e.SHF_GROUP, section.size, section.alignment))
            found = []
            for own in self._relocations.get(index, ()):
                if own.type == e.SHT_CREL:  # not decoded: of another number of symbols, equal things then differ
                    content.update(self._elf.content(own))
                    continue
                for offset, kind, number, addend in relocations(self._elf, own):
                    found.append((RELOCATION.pack(offset, kind, addend), *self._target(own.link, number)))
            self._parts[index] = content.digest(), tuple(found)
        return self._parts[index]

    def _target(self, table: int, number: int) -> tuple[int, int, bytes]:
        elf = self._elf
        symbol = elf.symbol_of(elf.sections[table], number)
        if symbol.section and number < elf.sections[table].info:
            return symbol.section, self._offset(symbol.section, symbol.address), b""
        name = elf.name(symbol).encode(errors="surrogateescape") + b"\0"
        return 0, 0, PLACE.pack(symbol.address % (1 << 64), symbol.size) + name

    @cached_property
    def _relocations(self) -> dict[int, list[ElfSection]]:
        found: dict[int, list[ElfSection]] = {}
        for section in self._elf.sections:
            if section.type in (e.SHT_RELA, e.SHT_REL, e.SHT_CREL):
                found.setdefault(section.info, []).append(section)
        return found


def holds_more(elf: Elf, symbols: Collection[ObjectSymbol], shared: Collection[str]) -> bool:
    """Return whether an object holds more than code and constants, so that a program would miss it.

    That are variables of its own, functions that run at load or at exit, and elements of sets that are found by their
    section's name. Variables that are `shared` by name with other objects are not its own.
    """
    named: dict[int, set[str]] = {}
    for symbol in symbols:
        if symbol.section:
            named.setdefault(symbol.section, set()).add(symbol.name)
    for section in elf.sections:
        if not section.flags & e.SHF_ALLOC or not section.size:
            continue
        if section.type in FUNCTION_ARRAYS or section.name.startswith(ORDERED) or section.name in WHOLE_SECTIONS:
            return True
        if section.name.isidentifier():
            return True
        if not section.constant and not (section.flags & e.SHF_GROUP and named.get(section.index, {""}) <= set(shared)):
            return True
    return False
