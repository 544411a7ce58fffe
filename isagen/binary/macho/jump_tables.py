"""Finds the jump tables in code for x86-64. Apple's newer linkers do not list these tables (LC_DATA_IN_CODE).

An entry of a table is the distance from the table to code of the same function. LLVM puts the table after the
function's code, GCC after the jump.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence

# LEA of an address into a 64-bit register. Its last four bytes are the distance from its end to this address.
LEA = re.compile(rb"(?=[\x48\x4c]\x8d[\x05\x0d\x15\x1d\x25\x2d\x35\x3d](.{4}))", re.DOTALL)
LEA_SIZE = 7
ENTRY, FEWEST = 4, 3  # bytes of an entry; entries of the smallest table


def jump_tables(raw: bytes, starts: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield (first offset, end) of each table in the code `raw`; `starts` are the sorted offsets of its functions."""
    seen: set[int] = set()
    for found in LEA.finditer(raw):
        place = found.start() + LEA_SIZE + int.from_bytes(found[1], "little", signed=True)
        number = bisect_right(starts, found.start())
        first = starts[number - 1] if number else 0
        limit = after = starts[number] if number < len(starts) else len(raw)
        if not first < place < limit or place % ENTRY or place in seen:
            continue
        end = place
        while end + ENTRY <= after and end not in seen:
            target = place + int.from_bytes(raw[end : end + ENTRY], "little", signed=True)
            if not first <= target < limit or place <= target < end + ENTRY:
                break
            after = min(after, target) if target > place else after
            seen.add(end)
            end += ENTRY
        if end - place >= FEWEST * ENTRY or end in seen:
            yield place, end
