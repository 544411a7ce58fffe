"""What single functions and constants of an object are made of, and how the object refers to others."""

from __future__ import annotations

import struct
from bisect import bisect_left
from collections.abc import Collection, Iterator, Sequence
from functools import cached_property
from operator import itemgetter
from typing import NamedTuple

from ...model.digests import blake2b
from ..protocol import Binding, Kind
from . import layout as e
from .digest import DIGEST_SIZE
from .reader import Elf
from .relocations import relocations
from .unwind import UNWINDING, extent, records
from .values import ElfSection, Group

# The relocations that are of calls and jumps: of AArch64 by their type, of x86-64 by the instruction before them.
EM_X86_64, R_X86_64_PLT32 = 62, 4
EM_AARCH64, AARCH64_CALLS = 183, frozenset({282, 283})  # R_AARCH64_JUMP26 and CALL26
PLACE = struct.Struct("<QQ")
VALUES = struct.Struct("<QQQQ")
RELOCATION = struct.Struct("<QQq")  # offset, type, addend


class Reference(NamedTuple):
    """A relocation: what it says, and its target, a `section` of the object and an offset, or else a global name.

    `name` also tells apart what is at one place: a function, and a resolver, which is asked for one.
    """

    said: bytes
    section: int
    offset: int
    name: bytes


class Part(NamedTuple):
    """A section: its bytes, as a digest, and its references."""

    content: bytes
    references: tuple[Reference, ...]


class Fingerprints:
    """The fingerprints of what an object defines: equal for equal bytes and relocations, names of local things aside.

    What a definition refers to by a global name counts by that name; what has no such name counts with its content. A
    function counts with what unwinding it does, and with all that a linker keeps or drops together with it.
    """

    def __init__(self, elf: Elf, groups: Collection[Group]) -> None:
        self._elf = elf
        self._group = {member: group.members for group in groups for member in group.members}
        self._parts: dict[int, Part] = {}
        self._targets: dict[tuple[int, int], tuple[int, int, bytes]] = {}  # by the symbol's table and number

    def of(self, section: int, address: int) -> str:
        """Return the fingerprint of what is at an address of a section."""
        number: dict[int, int] = {}  # by section, in the order in which they are found
        waiting: list[int] = []

        def place(index: int) -> int:
            if index not in number:
                number[index] = len(waiting)
                waiting.append(index)
            return number[index]

        found = blake2b(digest_size=DIGEST_SIZE)
        found.update(PLACE.pack(place(section), self._offset(section, address)))
        for index in waiting:
            for part in (self._part(index), *self._unwinding.get(index, ())):
                found.update(part.content)
                for one in part.references:
                    found.update(one.said)
                    found.update((PLACE.pack(place(one.section), one.offset) if one.section else b"") + one.name)
            for member in self._group.get(index, ()):
                if self._elf.sections[member].flags & e.SHF_ALLOC:
                    place(member)
        return found.hexdigest()

    @cached_property
    def addressed(self) -> frozenset[str]:
        """The global names that loaded parts of the object refer to in another way than by a call."""
        found = set()
        for section in self._elf.sections:
            if not section.flags & e.SHF_ALLOC or section.name == UNWINDING:
                continue
            code = self._elf.content(section) if section.executable else b""
            for own in self._relocations.get(section.index, ()):
                for offset, kind, number, _ in relocations(self._elf, own):
                    target, _, name = self._target(own.link, number)
                    if not target and not (code and self._is_call(code, offset, kind)):
                        found.add(name)
        return frozenset(name[:-1].decode(errors="surrogateescape") for name in found)

    def _is_call(self, code: bytes, offset: int, kind: int) -> bool:
        """Return whether a relocation in code is of a call or jump; `lea f@PLT(%rip)` is of the same type on x86-64."""
        if self._elf.machine == EM_AARCH64:
            return kind in AARCH64_CALLS
        if self._elf.machine != EM_X86_64 or kind != R_X86_64_PLT32 or offset < 1:
            return False
        return code[offset - 1] in (0xE8, 0xE9) or (
            offset > 1 and code[offset - 2] == 0x0F and code[offset - 1] >> 4 == 8
        )

    def _offset(self, section: int, address: int) -> int:
        return (address - self._elf.sections[section].address) % (1 << 64)

    def _part(self, index: int) -> Part:
        if index not in self._parts:
            section = self._elf.sections[index]
            content = blake2b(self._elf.content(section), digest_size=DIGEST_SIZE)
            content.update(VALUES.pack(section.type, section.flags & ~e.SHF_GROUP, section.size, section.alignment))
            content.update(bytes([section.constant]))
            found = [one for own in self._relocations.get(index, ()) for _, one in self._references(own)]
            self._parts[index] = Part(content.digest(), tuple(found))
        return self._parts[index]

    def _references(self, own: ElfSection) -> Iterator[tuple[int, Reference]]:
        """Yield the references of a relocation section with their offsets."""
        for offset, kind, number, addend in relocations(self._elf, own):
            section, place, name = self._target(own.link, number)
            yield offset, Reference(RELOCATION.pack(offset, kind, addend), section, place, name)

    def _target(self, table: int, number: int) -> tuple[int, int, bytes]:
        """Return the section and offset that a symbol means, or its name."""
        if (table, number) not in self._targets:
            self._targets[table, number] = self._found(table, number)
        return self._targets[table, number]

    def _found(self, table: int, number: int) -> tuple[int, int, bytes]:
        elf = self._elf
        symbol = elf.symbol_of(elf.sections[table], number)
        if symbol.section and number < elf.sections[table].info:
            # A resolver is asked for an address, and a function is one.
            return symbol.section, self._offset(symbol.section, symbol.address), bytes([symbol.kind == Kind.RESOLVER])
        name = elf.name(symbol).encode(errors="surrogateescape") + b"\0"
        if symbol.binding == Binding.LOCAL:  # absolute
            return 0, 0, PLACE.pack(symbol.address % (1 << 64), 0) + name
        return 0, 0, name

    @cached_property
    def _relocations(self) -> dict[int, list[ElfSection]]:
        found: dict[int, list[ElfSection]] = {}
        for section in self._elf.sections:
            if section.type in (e.SHT_RELA, e.SHT_REL):  # of objects with SHT_CREL, none folds
                found.setdefault(section.info, []).append(section)
        return found

    @cached_property
    def _unwinding(self) -> dict[int, list[Part]]:
        """By section of code, what the tables for unwinding the stack say of it: a part for each of their records.

        Linux Standard Base, "Exception Frames". A record counts with the common one that it builds on.
        """
        found: dict[int, list[Part]] = {}
        order = self._elf.layout.order
        for section in self._elf.sections:
            if section.name != UNWINDING:
                continue
            raw = self._elf.content(section)
            own = self._relocations.get(section.index, ())
            known = sorted((pair for one in own for pair in self._references(one)), key=itemgetter(0))
            for place, end, origin in records(raw, order):
                begin = place + 8  # of the field that says where the function is
                function = None
                content, references = b"", []
                for start, kept, last in ((origin, origin, extent(raw, origin, order)[1]), (place, begin, end)):
                    said = raw[kept:last].rstrip(b"\0")  # records end in instructions that do nothing, to be aligned
                    content += PLACE.pack(len(said), 0) + said
                    for offset, one in _between(known, kept, last):
                        if offset == begin:
                            function = one
                        else:
                            references.append(one._replace(said=PLACE.pack(offset - start, 0) + one.said[8:]))
                if function is not None:
                    section_of, where = function.section or self._defined.get(function.name, 0), function.offset
                    content += PLACE.pack(where, 0) + function.said[8:]
                    found.setdefault(section_of, []).append(Part(content, tuple(references)))
        return found

    @cached_property
    def _defined(self) -> dict[bytes, int]:
        """The section of each global symbol that the object defines, by name."""
        elf = self._elf
        found = (symbol for symbol in elf.symbols() if symbol.section and symbol.binding != Binding.LOCAL)
        return {elf.name(symbol).encode(errors="surrogateescape") + b"\0": symbol.section for symbol in found}


def _between(known: Sequence[tuple[int, Reference]], start: int, end: int) -> Sequence[tuple[int, Reference]]:
    """Return the references at offsets from `start` to before `end`; they are in order."""
    first = bisect_left(known, start, key=itemgetter(0))
    return known[first : bisect_left(known, end, lo=first, key=itemgetter(0))]
