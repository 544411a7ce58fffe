"""The pointers in the data of a linked ELF file: by its relocations, or by their values if its addresses are fixed."""

from __future__ import annotations

import sys
from array import array
from collections.abc import Iterator

from ..protocol import RelocationTypes, SymbolKind
from . import layout as e
from .entries import ARRAY_TYPES, ElfSection
from .reader import Elf
from .relocations import relocations, word_at


def data_pointers(elf: Elf, kinds: RelocationTypes) -> Iterator[tuple[int, int]]:
    """Yield the pointers in the data of a linked file: (where each is, address that it leads to)."""
    for section in elf.sections:
        if not section.flags & e.SHF_ALLOC:
            continue
        if section.type == e.SHT_RELR:
            for place in _relative_places(elf, section):
                yield place, word_at(elf, place)
        elif section.type in e.RELOCATION_SECTIONS:
            for offset, kind, number, addend in relocations(elf, section):
                if kind == kinds.rebased:
                    yield offset, addend
                elif kind in kinds.slot and elf.dynamic_table is not None:
                    symbol = elf.symbol_of(elf.dynamic_table, number)
                    if symbol.defined and symbol.kind != SymbolKind.RESOLVER:
                        yield offset, symbol.address + (addend if section.type == e.SHT_RELA else 0)
    if elf.fixed:
        yield from _words_that_are_addresses(elf)


def _relative_places(elf: Elf, section: ElfSection) -> Iterator[int]:
    """Yield the addresses of the pointers in a SHT_RELR section (gABI, "Relative Relocation Table").

    An even entry is an address. An odd one is a bitmap of the words that come after the last address.
    """
    content, word, order = elf.content(section), elf.layout.word, elf.layout.byteorder
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


def _words_that_are_addresses(elf: Elf) -> Iterator[tuple[int, int]]:
    """Yield the words in the data of a program at fixed addresses that are addresses of code or data."""
    loaded = [section for section in elf.sections if section.flags & e.SHF_ALLOC and section.size]
    if not loaded or not elf.layout.wide:
        return
    low, high = min(s.address for s in loaded), max(s.address + s.size for s in loaded)
    for section in loaded:
        if section.executable or not (section.type == e.SHT_PROGBITS or section.type in ARRAY_TYPES):
            continue
        skipped = -section.address % 8
        content = elf.content(section)[skipped:]
        words = array("Q", content[: len(content) // 8 * 8])
        if elf.layout.byteorder != sys.byteorder:
            words.byteswap()
        for number, value in enumerate(words):
            if low <= value < high and elf.section_at(value) is not None:
                yield section.address + skipped + 8 * number, value
