"""The pointers of a binary that code is called through: tables of the linker, and arrays that the loader walks."""

from __future__ import annotations

import struct
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from . import reader as e
from .reader import Elf, ElfSection

# x86-64 psABI, "Relocation Types".
R_64, R_GLOB_DAT, R_JUMP_SLOT, R_RELATIVE, R_IRELATIVE = 1, 6, 7, 8, 37
# Those that hold a distance from themselves: PC32, PLT32, GOTPCREL, PC64, and GOTPCREL's newer spellings.
PC_RELATIVE = frozenset({2, 4, 9, 24, 41, 42, 43, 44, 45})
GOT_RELATIVE = frozenset({9, 41, 42, 43})
ABSOLUTE = frozenset({R_64, 10, 11})  # R_64, 32, 32S
# Sections of pointers to functions that the loader calls, by their names and types; and the tags by which .dynamic says
# their address and size.
WHEN_LOADED, AT_EXIT = "when loaded", "at exit"
ARRAYS = {
    WHEN_LOADED: ((".preinit_array", ".init_array", ".ctors"), (e.SHT_PREINIT_ARRAY, e.SHT_INIT_ARRAY)),
    AT_EXIT: ((".fini_array", ".dtors"), (e.SHT_FINI_ARRAY,)),
}
DYNAMIC_ARRAYS = {WHEN_LOADED: ((25, 27), (32, 33)), AT_EXIT: ((26, 28),)}
DYNAMIC_FUNCTIONS = {WHEN_LOADED: 12, AT_EXIT: 13}  # DT_INIT, DT_FINI
NO_FUNCTION = (0, (1 << 64) - 1)  # ends or starts an array


@dataclass(frozen=True)
class Reference:
    """A relocation of an object: at `address`, of `kind` (R_X86_64_*), to a symbol of a table."""

    address: int
    kind: int
    table: int
    symbol: int
    addend: int


def within(spans: Sequence[tuple[int, int]], address: int) -> bool:
    """Return whether an address is in one of the `spans`: (first address, address after the last) of each, in order."""
    place = bisect_right(spans, (address, 1 << 64)) - 1
    return place >= 0 and address < spans[place][1]


class Pointers:
    """The pointers of an ELF file for x86-64."""

    def __init__(self, binary: Elf) -> None:
        self.elf = binary

    @cached_property
    def _dynamic(self) -> dict[int, int]:
        """What .dynamic says, the first value by tag."""
        section = next((s for s in self.elf.sections if s.type == e.SHT_DYNAMIC), None)
        found: dict[int, int] = {}
        if section is not None:
            content = self.elf.content(section)
            for tag, value in struct.iter_unpack("<QQ", content[: len(content) // 16 * 16]):
                found.setdefault(tag, value)
        return found

    @cached_property
    def _arrays(self) -> tuple[tuple[int, int, str], ...]:
        """(Address, size, when its functions run) of arrays of functions in a linked file."""
        found = []
        for when, (names, types) in ARRAYS.items():
            for section in self.elf.sections:
                if section.in_file and (section.type in types or section.name.startswith(names)):
                    found.append((section.address, section.size, when))
            for place, size in DYNAMIC_ARRAYS[when]:
                start = self._dynamic.get(place, 0)
                there = self.elf.section_at(start)
                if start and there is not None and there.in_file:
                    found.append((start, min(self._dynamic.get(size, 0), there.size), when))
        return tuple(dict.fromkeys(found))

    @cached_property
    def spans(self) -> list[tuple[int, int]]:
        """Where pointers that matter are, as (first address, address after the last) of each, in order."""
        spans = [(start, start + size) for start, size, _ in self._arrays]
        spans += [(s.address, s.address + s.size) for s in self.elf.sections if s.in_file and s.name.startswith(".got")]
        return sorted(spans)

    def _is_slot(self, address: int) -> bool:
        return within(self.spans, address)

    @cached_property
    def _slots(self) -> dict[int, tuple[str, int]]:
        """What the loader writes into pointers: by their address, (how, address or symbol's number)."""
        found: dict[int, tuple[str, int]] = {}
        for section in self.elf.sections:
            if section.type not in e.RELOCATIONS or not section.flags & e.SHF_ALLOC:
                continue
            for offset, kind, symbol, addend in self.elf.relocations(section):
                if kind == R_IRELATIVE:
                    found[offset] = ("resolver", addend)
                elif kind in (R_GLOB_DAT, R_JUMP_SLOT, R_RELATIVE, R_64) and self._is_slot(offset):
                    found[offset] = ("address", addend) if kind == R_RELATIVE else ("symbol", symbol)
        return found

    @cached_property
    def resolvers(self) -> tuple[int, ...]:
        """The addresses of ifunc resolvers, which the loader calls."""
        found = [address for how, address in self._slots.values() if how == "resolver"]
        for table in {self.elf.symbol_table, self.elf.dynamic_table}:
            found += [s.address for s in self.elf.symbols(table) if s.kind == e.STT_IFUNC and s.defined]
        return tuple(sorted(set(found)))

    def follow(self, slot: int) -> int:
        """Return the address of the code that the pointer in `slot` leads to; 0 if it is in no place of this file.

        A pointer that no relocation of its own is for is as it was linked: in programs at fixed addresses, and in those
        whose relocations are packed (.relr.dyn), which change pointers where they stand.
        """
        how, value = self._slots.get(slot, ("none", 0))
        if how == "address":
            return value
        if how == "symbol" and self.elf.dynamic_table is not None:
            symbol = self.elf.symbol(self.elf.dynamic_table, value)
            return symbol.address if symbol.defined and symbol.kind != e.STT_IFUNC else 0
        if how == "none" and self._is_slot(slot):
            raw = self.elf.read(slot, 8)
            return int.from_bytes(raw, "little") if len(raw) == 8 else 0
        return 0

    def name(self, slot: int) -> str:
        """Return the name of the symbol that a pointer is for, if the loader looks for it by name."""
        how, value = self._slots.get(slot, ("none", 0))
        table = self.elf.dynamic_table
        return self.elf.name(table, self.elf.symbol(table, value)) if how == "symbol" and table is not None else ""

    def called_by_loader(self) -> Iterator[tuple[int, str]]:
        """Yield the functions that the loader calls: (address, when)."""
        for address in self.resolvers:
            yield address, f"{WHEN_LOADED}, as an ifunc resolver"
        if self.elf.relocatable:
            yield from self._of_object()
            return
        for address, size, when in self._arrays:
            for slot in range(address, address + size - 7, 8):
                target = self.follow(slot)
                if target not in NO_FUNCTION:
                    yield target, when
        for when, tag in DYNAMIC_FUNCTIONS.items():
            if self._dynamic.get(tag):
                yield self._dynamic[tag], when
        for section in self.elf.sections:
            if section.name in (".init", ".fini") and section.executable:
                yield section.address, WHEN_LOADED if section.name == ".init" else AT_EXIT

    def _of_object(self) -> Iterator[tuple[int, str]]:
        for section in self.elf.sections:
            for when, (names, types) in ARRAYS.items():
                if section.type in types or section.name.startswith(names):
                    for reference in self.references(section):
                        yield self.target(reference), when

    # In an object, whose pointers are not known yet.

    @cached_property
    def _references(self) -> dict[int, list[Reference]]:
        """By the number of a section, its relocations, in order."""
        found: dict[int, list[Reference]] = {}
        for section in self.elf.sections:
            if section.type not in e.RELOCATIONS or section.info >= len(self.elf.sections):
                continue
            place = self.elf.sections[section.info]
            if place.flags & e.SHF_ALLOC:
                found.setdefault(place.index, []).extend(
                    Reference(place.address + offset, kind, section.link, symbol, addend)
                    for offset, kind, symbol, addend in self.elf.relocations(section)
                )
        for listed in found.values():
            listed.sort(key=lambda reference: reference.address)
        return found

    def references(self, section: ElfSection) -> list[Reference]:
        """Return the relocations of an object's section, in order."""
        return self._references.get(section.index, [])

    def reference(self, section: ElfSection, start: int, end: int) -> Reference | None:
        """Return the relocation of an object's section from `start` to before `end`, if there is one."""
        listed = self.references(section)
        place = bisect_right(listed, start - 1, key=lambda reference: reference.address)
        return listed[place] if place < len(listed) and listed[place].address < end else None

    def target(self, reference: Reference, after: int = 0) -> int:
        """Return the address that an object's relocation is for; 0 if it is not in this object, or not in memory.

        `after` is the address after the instruction that it is in.
        """
        symbol = self.elf.symbol(self.elf.sections[reference.table], reference.symbol)
        if not symbol.defined:
            return 0
        if reference.kind in PC_RELATIVE:
            return symbol.address + reference.addend + (after - reference.address if after else 0)
        return symbol.address + reference.addend if reference.kind in ABSOLUTE else 0

    def target_name(self, reference: Reference) -> str:
        """Return the name of what an object's relocation is for."""
        table = self.elf.sections[reference.table]
        return self.elf.name(table, self.elf.symbol(table, reference.symbol))
