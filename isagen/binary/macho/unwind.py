"""The starts of functions in `__unwind_info` (LLVM's <mach-o/compact_unwind_encoding.h>).

Linkers write one entry for neighbours that are unwound alike.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

HEADER = struct.Struct("<IIIIIII")  # version; offset and count of encodings, personalities, and pages
PAGE = struct.Struct("<III")  # first function, offset of the page, data for exceptions
REGULAR, COMPRESSED = 2, 3


def functions(raw: bytes) -> Iterator[int]:
    """Yield the distances of functions from the file's start in memory. Raises `struct.error`, or `ValueError`."""
    *_, start, count = HEADER.unpack_from(raw)
    left = len(raw)  # pages do not overlap
    for place in range(start, start + count * PAGE.size, PAGE.size):
        first, page, _ = PAGE.unpack_from(raw, place)
        if not page:  # the last one marks the end
            continue
        kind, entries, number = struct.unpack_from("<IHH", raw, page)
        left -= 4 * number
        if kind not in (REGULAR, COMPRESSED) or left < 0:
            raise ValueError("its table of functions for unwinding is damaged")
        size = 8 if kind == REGULAR else 4
        for entry in range(page + entries, page + entries + number * size, size):
            (value,) = struct.unpack_from("<I", raw, entry)
            yield value if kind == REGULAR else first + (value & 0xFFFFFF)
