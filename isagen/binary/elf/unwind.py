"""The places of functions in the tables for unwinding the stack, which `strip` leaves alone.

Linux Standard Base, "Exception Frames", and DWARF 4, 6.4.1.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

UNWINDING = ".eh_frame"
LONG = 0xFFFFFFFF  # a length of 64 bits follows


def records(raw: bytes, order: str) -> Iterator[tuple[int, int, int]]:
    """Yield (start, end, start of the common record that it builds on) of each record of a function in .eh_frame."""
    place = 0
    while place + 8 <= len(raw):
        back, end = extent(raw, place, order)
        if back and 0 <= place + 4 - back <= len(raw) - 8:
            yield place, end, place + 4 - back
        place = end


def extent(raw: bytes, place: int, order: str) -> tuple[int, int]:
    """Return how far back the common record of the one at `place` is, 0 for a common one, and where the record ends."""
    length, back = struct.unpack_from(order + "II", raw, place)
    if length in (0, LONG):  # no compiler writes long ones
        return 0, place + 4
    return back, place + 4 + length


def unwind_table_functions(raw: bytes, address: int) -> Iterator[tuple[int, int]]:
    """Yield the (address, size in bytes) of each function that `raw`, the .eh_frame at `address`, describes.

    Records of a kind that no compiler makes for x86-64 are passed over.
    """
    known: dict[int, bool] = {}
    for place, end, origin in records(raw, "<"):
        if end - place < 16 or place + 16 > len(raw):
            continue
        if origin not in known:
            known[origin] = _is_common(raw, origin)
        if known[origin]:
            start, size = struct.unpack_from("<iI", raw, place + 8)
            yield address + place + 8 + start, size


def _is_common(raw: bytes, place: int) -> bool:
    """Return whether a CIE has its functions' addresses relative to their own place, in 32 bits."""
    if not 0 <= place <= len(raw) - 9:
        return False
    length = struct.unpack_from("<I", raw, place)[0]
    body = raw[place + 8 : place + 4 + min(length, 256)]
    augmentation, _, rest = body[1:].partition(b"\0")
    if not augmentation.startswith(b"z"):
        return False
    for _ in range(2):  # code and data alignment
        rest = rest[_leb(rest) :]
    rest = rest[1 if body[:1] == b"\1" else _leb(rest) :]  # return address register
    rest = rest[_leb(rest) :]  # length of what follows
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
