"""Reads ELF relocations: with addends, without addends, and packed in Android's form."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from functools import cached_property
from operator import attrgetter

from ..protocol import Relocation
from . import layout as e
from .entries import ElfSection, ElfSymbol
from .reader import Elf

Entry = tuple[int, int, int | None]  # offset, info, and the addend if the entry contains one
PACKED = b"APS2"
ADDRESS = attrgetter("address")


def relocations(elf: Elf, section: ElfSection) -> Iterator[tuple[int, int, int, int]]:
    """Yield (offset, type, number of the symbol, addend) of each relocation in a section.

    Entries for x86-64 contain the addend. Entries for some other processors, entries that lld writes with -z rel, and
    some packed entries do not: for these, the relocated place contains the addend.
    """
    packed = elf.at_offset(section.offset, 4) == PACKED  # GNU strip changes the section's type
    if packed and not elf.relocatable:
        entries: Iterable[Entry] = _packed(elf, section)
    elif section.type in (e.SHT_ANDROID_RELA, e.SHT_ANDROID_REL):
        raise elf.fail(f"{section.name} does not start as packed relocations do")
    else:
        entries = _plain(elf, section)
    shift = elf.layout.symbol_shift
    kinds = (1 << shift) - 1
    swapped = elf.machine == e.EM_MIPS and elf.layout.wide and elf.layout.byteorder == "little"
    start = elf.sections[section.info].address if elf.relocatable else 0
    for offset, info, addend in entries:
        if swapped:  # the ABI of 64-bit MIPS writes the symbol before the type in both byte orders
            info = (info & 0xFFFFFFFF) << 32 | info >> 32
        if addend is None:
            addend = word_at(elf, start + offset, signed=elf.relocatable)
        yield offset, info & kinds, info >> shift & 0xFFFFFFFF, addend


def word_at(elf: Elf, address: int, signed: bool = False) -> int:
    """Return the word at an address; 0 where the file contains none."""
    raw = elf.read(address, elf.layout.word)
    return int.from_bytes(raw, elf.layout.byteorder, signed=signed) if len(raw) == elf.layout.word else 0


class RelocatedElf(Elf):
    """An ELF file with the relocations of an object (`isagen.binary.object_reader.ReadObject`)."""

    @property
    def word(self) -> int:
        return self.layout.word

    @cached_property
    def _relocations(self) -> dict[int, list[Relocation]]:
        """A cache: the sorted relocations of each section that was read, by the section's index."""
        return {}

    @cached_property
    def _tables(self) -> dict[int, list[ElfSection]]:
        """The sections of relocations, by the index of the section that they change."""
        tables: dict[int, list[ElfSection]] = {}
        for section in self.sections:
            if section.type in e.RELOCATION_SECTIONS:
                tables.setdefault(section.info, []).append(section)
        return tables

    def relocations_between(self, index: int, start: int, end: int) -> list[Relocation]:
        if index not in self._relocations:
            address = self.sections[index].address
            relocated = [
                Relocation(address + offset, kind, table.link, symbol, addend)
                for table in self._tables.get(index, ())
                for offset, kind, symbol, addend in relocations(self, table)
            ]
            self._relocations[index] = sorted(relocated, key=ADDRESS)
        decoded = self._relocations[index]
        return decoded[bisect_left(decoded, start, key=ADDRESS) : bisect_left(decoded, end, key=ADDRESS)]

    def relocation_symbol(self, relocation: Relocation) -> ElfSymbol:
        return self.symbol_of(self.sections[relocation.table], relocation.symbol)


def _plain(elf: Elf, section: ElfSection) -> Iterator[Entry]:
    with_addend = section.type == e.SHT_RELA
    form = elf.layout.relocation_with_addend if with_addend else elf.layout.relocation
    raw = elf.content(section)
    entries = form.iter_unpack(raw[: len(raw) // form.size * form.size])
    yield from entries if with_addend else ((offset, info, None) for offset, info in entries)


def _packed(elf: Elf, section: ElfSection) -> Iterator[Entry]:
    """Yield Android's packed relocations (lld's --pack-dyn-relocs=android).

    The section is a sequence of SLEB128 numbers: the number of relocations, the first offset, and groups. A group
    starts with the fields that its relocations have in common (bionic, linker/linker_reloc_iterators.h).
    """
    numbers = _sleb(elf.content(section)[4:])
    try:
        left, offset = next(numbers), next(numbers)
        if left > elf.size:  # a damaged count: a few bytes may encode any number of relocations
            raise elf.fail(f"{section.name} has more relocations than the file has bytes to relocate")
        addend = 0
        while left > 0:
            count, flags = next(numbers), next(numbers)
            same_info, same_step, same_addend, has_addend = (bool(flags & bit) for bit in (1, 2, 4, 8))
            step = next(numbers) if same_step else 0
            info = next(numbers) if same_info else 0
            addend = (addend + (next(numbers) if same_addend else 0)) if has_addend else 0
            if not 0 < count <= left:
                raise elf.fail(f"{section.name} has a group of {count} relocations, but {left} are left")
            left -= count
            for _ in range(count):
                offset += step if same_step else next(numbers)
                info = info if same_info else next(numbers)
                addend += next(numbers) if has_addend and not same_addend else 0
                yield offset, info, addend if has_addend else None
    except StopIteration:
        raise elf.fail(f"{section.name} is cut off") from None


def _sleb(raw: bytes) -> Iterator[int]:
    """Yield signed LEB128 numbers (DWARF 4, 7.6)."""
    value = shift = 0
    for byte in raw:
        value |= (byte & 0x7F) << shift
        shift += 7
        if not byte & 0x80:
            yield value - (1 << shift if byte & 0x40 else 0)
            value = shift = 0
        elif shift > 70:
            return  # longer than any valid number
