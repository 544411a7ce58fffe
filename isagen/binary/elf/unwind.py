"""Finds functions in the tables for unwinding the stack, which `strip` does not remove.

Linux Standard Base, "Exception Frames", and DWARF 4, 6.4.1.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from functools import cache

LONG = 0xFFFFFFFF  # a length of 64 bits follows


def unwind_table_functions(raw: bytes, address: int) -> Iterator[tuple[int, int]]:
    """Yield (address, size in bytes) of each function that `raw`, the .eh_frame at `address`, describes.

    Records of forms that compilers do not use for x86-64 are skipped.
    """
    is_known = cache(lambda cie: _has_relative_addresses(raw, cie))
    place = 0
    while place + 8 <= len(raw):
        length, back = struct.unpack_from("<II", raw, place)
        if length == LONG:  # a 64-bit length follows
            place += 12 + int.from_bytes(raw[place + 4 : place + 12], "little")
            continue
        cie = place + 4 - back  # the CIE to which this function's record refers; in a CIE itself, `back` is 0
        if back and length >= 12 and place + 16 <= len(raw) and is_known(cie):
            start, size = struct.unpack_from("<iI", raw, place + 8)
            yield address + place + 8 + start, size
        place += 4 + length


def _has_relative_addresses(raw: bytes, place: int) -> bool:
    """Return whether each record of the CIE at `place` has a 32-bit address, relative to the place of the address."""
    if not 0 <= place <= len(raw) - 9:
        return False
    length = struct.unpack_from("<I", raw, place)[0]
    body = raw[place + 8 : place + 4 + min(length, 256)]
    augmentation, _, rest = body[1:].partition(b"\0")
    if not augmentation.startswith(b"z"):
        return False
    for _ in range(2):  # skip the alignment factors of code and data
        rest = rest[_leb(rest) :]
    rest = rest[1 if body[:1] == b"\1" else _leb(rest) :]  # return address register
    rest = rest[_leb(rest) :]  # length of the augmentation data, which follows
    for letter in augmentation[1:].decode(errors="replace"):
        if letter == "R":
            return rest[:1] == b"\x1b"  # DW_EH_PE_pcrel | DW_EH_PE_sdata4
        if letter == "L":
            rest = rest[1:]
        elif letter == "P" and rest:
            rest = rest[1 + {0xB: 4, 0xC: 8, 0: 8, 3: 4, 4: 8}.get(rest[0] & 0xF, 4) :]
        elif letter != "S":
            return False
    return False


def _leb(raw: bytes) -> int:
    """Return the number of bytes of a LEB128 number."""
    return next((place + 1 for place, byte in enumerate(raw) if not byte & 0x80), len(raw))
