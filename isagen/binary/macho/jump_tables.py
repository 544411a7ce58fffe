"""Jump tables in the code of x86-64, which Apple's newer linkers do not list (LC_DATA_IN_CODE).

Compilers put those of a function behind its code: each entry is the distance from its table to code before it.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence

# LEA of a 64-bit register and a distance from the instruction: the last four bytes of seven.
LEA = re.compile(rb"(?=[\x48\x4c]\x8d[\x05\x0d\x15\x1d\x25\x2d\x35\x3d](.{4}))", re.DOTALL)
LEA_SIZE = 7
ENTRY, FEWEST = 4, 3  # bytes of an entry, and entries of a table


def jump_tables(raw: bytes, starts: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield (first offset, end) of each table in `raw`, code in which functions start at the offsets `starts`."""
    seen: set[int] = set()
    for found in LEA.finditer(raw):
        place = found.start() + LEA_SIZE + int.from_bytes(found[1], "little", signed=True)
        if place <= found.start() or place % ENTRY or place in seen:
            continue
        number = bisect_right(starts, found.start())
        first = starts[number - 1] if number else 0
        limit = starts[number] if number < len(starts) else len(raw)
        end = place
        while end + ENTRY <= limit and end not in seen:
            target = end + int.from_bytes(raw[end : end + ENTRY], "little", signed=True)
            if not first <= target < end:
                break
            seen.add(end)
            end += ENTRY
        if end - place >= FEWEST * ENTRY or end in seen:
            yield place, end
