"""Spans of addresses."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence


def within(spans: Sequence[tuple[int, int]], address: int) -> bool:
    """Return whether an address is in one of the `spans`: (first address, address after the last) of each, in order."""
    place = bisect_right(spans, (address, 1 << 64)) - 1
    return place >= 0 and address < spans[place][1]
