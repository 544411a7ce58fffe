"""Reads the pointers of an ELF file: in the GOT and in arrays, through which code is called; and in other data."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from itertools import chain

from ..contents import RelocationTypes, Section, SymbolKind, Target, within
from ..reader import Pointers, entries_of
from . import layout as e
from .reader import ARRAY_TYPES, AT_EXIT, LOADER_FUNCTIONS, WHEN_LOADED, Elf

# When the functions of an array are called, by the tags of its address and size in .dynamic, such as DT_INIT_ARRAY and
# DT_INIT_ARRAYSZ.
DYNAMIC_ARRAYS = {(25, 27): WHEN_LOADED, (32, 33): WHEN_LOADED, (26, 28): AT_EXIT}
DYNAMIC_FUNCTIONS = {12: WHEN_LOADED, 13: AT_EXIT}  # tags whose value is the address of a function: DT_INIT, DT_FINI
JUMPS = (".plt", ".iplt")
NO_FUNCTION = (0, (1 << 64) - 1)  # values that mark the start or end of an array


class ElfPointers(Pointers[Elf]):
    """The pointers of an ELF file, which may be an object or linked."""

    @cached_property
    def _dynamic(self) -> dict[int, int]:
        """The first value of each tag in .dynamic."""
        section = next((s for s in self._file.sections if s.type == e.SHT_DYNAMIC), None)
        content, form = self._file.content(section) if section is not None else b"", self._file.layout.dynamic
        return dict(reversed(list(entries_of(form, content))))

    @cached_property
    def _arrays(self) -> tuple[tuple[int, int, str], ...]:
        """The arrays of functions in a linked file: (address, size, when the functions are called)."""
        arrays = [(s.address, s.size, s.when_called) for s in self._file.sections if s.in_file and s.when_called]
        for (address_tag, size_tag), when in DYNAMIC_ARRAYS.items():
            address = self._dynamic.get(address_tag, 0)
            section = self._file.section_at(address)
            if address and section is not None and section.in_file:
                arrays.append((address, min(self._dynamic.get(size_tag, 0), section.size), when))
        return tuple(dict.fromkeys(sorted(arrays, key=lambda entry: entry[2] == AT_EXIT)))

    @cached_property
    def slot_ranges(self) -> list[tuple[int, int]]:
        arrays = {(address, address + size) for address, size, _ in self._arrays}
        return sorted([*arrays, *self._ranges_of((".got",))])

    @cached_property
    def plt_ranges(self) -> list[tuple[int, int]]:
        return self._ranges_of(JUMPS)

    def _ranges_of(self, names: tuple[str, ...]) -> list[tuple[int, int]]:
        return sorted(
            (s.address, s.address + s.size) for s in self._file.sections if s.in_file and s.name.startswith(names)
        )

    @cached_property
    def _relocated(self) -> tuple[dict[int, Target], set[int]]:
        """Targets of pointers that the loader relocates, by the pointer's address; and the addresses of resolvers."""
        slots: dict[int, Target] = {}
        resolvers: set[int] = set()
        for section in self._relocation_tables() if not self._file.relocatable else ():
            for place, kind, number, addend in self._file.relocations_in(section):
                if kind == self._kinds.resolved:
                    slots[place] = Target(resolved=True)
                    resolvers.add(addend)
                elif kind == self._kinds.rebased and within(self.slot_ranges, place):
                    slots[place] = Target(addend)
                elif kind in self._kinds.slot and within(self.slot_ranges, place):
                    symbol = self._file.symbol_of(self._file.dynamic_table, number)
                    in_file = symbol.defined and symbol.kind != SymbolKind.RESOLVER
                    slots[place] = Target(symbol.address if in_file else 0, symbol.name)
        return slots, resolvers

    def _relocation_tables(self) -> Iterator[Section]:
        return (s for s in self._file.sections if s.type in (e.SHT_RELA, e.SHT_REL) and s.loaded)

    @cached_property
    def resolvers(self) -> tuple[int, ...]:
        symbols = chain(*map(self._file.symbols_of, {self._file.symbol_table, self._file.dynamic_table}))
        named = (s.address for s in symbols if s.kind == SymbolKind.RESOLVER and s.defined)
        return tuple(sorted(self._relocated[1].union(named)))

    def follow(self, slot: int) -> Target:
        slots, _ = self._relocated
        if slot not in slots and within(self.slot_ranges, slot):
            # No relocation names the slot: the file is linked at a fixed address, or .relr.dyn relocates the slot.
            value = self._file.word_at(slot)
            return Target(value, null=not value)
        return slots.get(slot, Target())

    def called_by_loader(self) -> Iterator[tuple[int, str]]:
        for address in self.resolvers:
            yield address, f"{WHEN_LOADED}, as an ifunc resolver"
        if self._file.relocatable:
            yield from super().called_by_loader()
        else:
            for address, size, when in self._arrays:
                slots = range(address, address + size - self._file.word + 1, self._file.word)
                targets = (self.follow(slot).address for slot in slots)
                yield from ((target, when) for target in targets if target not in NO_FUNCTION)
            yield from ((self._dynamic[tag], when) for tag, when in DYNAMIC_FUNCTIONS.items() if self._dynamic.get(tag))
        for section in self._file.sections:
            if section.name in LOADER_FUNCTIONS and section.executable and section.size:
                yield section.address, LOADER_FUNCTIONS[section.name]

    def in_data(self) -> Iterator[tuple[int, int]]:
        if self._file.relocatable:
            yield from super().in_data()
            return
        for section in self._file.sections:
            if section.type == e.SHT_RELR and section.loaded:
                for place in _relative_places(self._file, section):
                    yield place, self._file.word_at(place)
        for section in self._relocation_tables():
            for place, kind, number, addend in self._file.relocations_in(section):
                if kind == self._kinds.rebased:
                    yield place, addend
                elif kind in self._kinds.slot:
                    symbol = self._file.symbol_of(self._file.dynamic_table, number)
                    if symbol.defined and symbol.kind != SymbolKind.RESOLVER:
                        # GLOB_DAT and JUMP_SLOT have no addend: `relocations_in` may yield the slot's content as one.
                        yield place, symbol.address + (addend if kind in self._kinds.absolute else 0)
        if self._file.fixed and self._file.layout.wide:
            words = [s for s in self._file.sections if s.type == e.SHT_PROGBITS or s.type in ARRAY_TYPES]
            low = min((s.address for s in self._file.sections if s.loaded and s.size), default=0)
            yield from self._words_that_are_addresses((s for s in words if s.in_file and not s.executable), low)


class LoadedElf(Elf):
    """An ELF file with its pointers."""

    def pointers(self, kinds: RelocationTypes) -> ElfPointers:
        return ElfPointers(self, kinds)


def _relative_places(elf: Elf, section: Section) -> Iterator[int]:
    """Yield the addresses of the pointers in a SHT_RELR section (gABI, "Relative Relocation Table").

    An even entry is the address of a pointer. An odd entry is a bitmap of the words after those of the previous entry:
    each bit above the lowest stands for one word, and is set if the word is a pointer.
    """
    content, word, order = elf.content(section), elf.word, elf.byteorder
    after = 0
    for start in range(0, len(content) - word + 1, word):
        entry = int.from_bytes(content[start : start + word], order)
        if not entry & 1:
            yield entry
            after = entry + word
            continue
        for bit in range(1, 8 * word):
            if entry >> bit & 1:
                yield after + (bit - 1) * word
        after += (8 * word - 1) * word
