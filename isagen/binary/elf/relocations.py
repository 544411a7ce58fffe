"""Reading ELF relocations: with addends and without, and packed as Android's tools do."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from . import layout as e
from .entries import ElfSection
from .reader import Elf

Entry = tuple[int, int, int | None]  # offset, info, addend where it has one of its own
PACKED = b"APS2"
EM_MIPS = 8


def relocations(elf: Elf, section: ElfSection) -> Iterator[tuple[int, int, int, int]]:
    """Yield (offset, type, symbol's number, addend) of a relocation section.

    The psABI of x86-64 has them with an addend. Without one (lld's -z rel), and packed without one, a linked file has
    it in the relocated place.
    """
    packed = elf.at_offset(section.offset, 4) == PACKED  # GNU strip takes away the type that says so
    if packed and not elf.relocatable:
        every: Iterable[Entry] = _packed(elf, section)
    elif section.type in (e.SHT_ANDROID_RELA, e.SHT_ANDROID_REL):
        raise elf.fail(f"{section.name} does not start as packed relocations do")
    else:
        every = _plain(elf, section)
    shift = elf.layout.symbol_shift
    kinds = (1 << shift) - 1
    swapped = elf.machine == EM_MIPS and elf.layout.wide and elf.layout.byteorder == "little"
    for offset, info, addend in every:
        if swapped:  # the ABI of 64-bit MIPS writes the symbol first, whatever the byte order
            info = (info & 0xFFFFFFFF) << 32 | info >> 32
        if addend is None:
            addend = 0 if elf.relocatable else word_at(elf, offset)
        yield offset, info & kinds, info >> shift & 0xFFFFFFFF, addend


def word_at(elf: Elf, address: int) -> int:
    """Return the pointer at an address; 0 where the file holds none."""
    raw = elf.read(address, elf.layout.word)
    return int.from_bytes(raw, elf.layout.byteorder) if len(raw) == elf.layout.word else 0


def _plain(elf: Elf, section: ElfSection) -> Iterator[Entry]:
    own = section.type == e.SHT_RELA
    form = elf.layout.relocation(addend=own)
    raw = elf.content(section)
    found = form.iter_unpack(raw[: len(raw) // form.size * form.size])
    yield from found if own else ((offset, info, None) for offset, info in found)


def _packed(elf: Elf, section: ElfSection) -> Iterator[Entry]:
    """Yield Android's packed relocations (lld's --pack-dyn-relocs=android).

    SLEB128 numbers: how many there are, where they start, and groups, which say what their relocations have in common
    (bionic, linker/linker_reloc_iterators.h).
    """
    content = elf.content(section)
    numbers = _sleb(content[4:])
    try:
        left, offset = next(numbers), next(numbers)
        if left > elf.size:  # a group may hold any number in a few bytes
            raise elf.fail(f"{section.name} holds more relocations than there are bytes to relocate")
        addend = 0
        while left > 0:
            count, flags = next(numbers), next(numbers)
            same_info, same_step, same_addend, has_addend = (bool(flags & bit) for bit in (1, 2, 4, 8))
            step = next(numbers) if same_step else 0
            info = next(numbers) if same_info else 0
            addend = (addend + (next(numbers) if same_addend else 0)) if has_addend else 0
            if not 0 < count <= left:
                raise elf.fail(f"{section.name} holds a group of {count} relocations, but {left} are left")
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
            return  # longer than any
