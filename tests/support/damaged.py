"""Damaged copies of ELF files."""

import random
import struct


def mutations(content, number):
    """Yield damaged copies of an ELF file, the same ones in every run."""
    dice = random.Random(20240131)
    (table,) = struct.unpack_from("<Q", content, 40)
    count = struct.unpack_from("<H", content, 60)[0]
    odd = (0, 1, 7, 0xFF, 0x7FFFFFFF, 0xFFFFFFFF, 1 << 40, (1 << 62) - 1, (1 << 63) - 8, (1 << 64) - 1)
    for turn in range(number):
        raw = bytearray(content)
        for _ in range(dice.choice((1, 1, 2, 5))):
            if turn % 4 == 0:  # a field of a section header
                place = table + 64 * dice.randrange(count) + dice.choice((0, 4, 8, 16, 24, 32, 40, 44, 48, 56))
                struct.pack_into("<Q", raw, min(place, len(raw) - 8), dice.choice(odd))
            elif turn % 4 == 1:  # of the file's header
                struct.pack_into("<Q", raw, dice.randrange(0, 57), dice.choice(odd))
            elif turn % 4 == 2:  # anything
                raw[dice.randrange(len(raw))] = dice.randrange(256)
            else:  # symbols, relocations, notes and pointers
                place = dice.randrange(0, len(raw) - 8, 8)
                struct.pack_into("<Q", raw, place, dice.choice(odd))
        yield bytes(raw) if turn % 9 else bytes(raw[: dice.randrange(len(raw))])
