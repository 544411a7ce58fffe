"""Following control through code of unknown size: which bytes after an entry are instructions that run."""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Callable
from dataclasses import dataclass

from ..processors.decoding import DIRECT, LEAVES, Decoder, Kind, Reference

STEP = 4096  # bytes that are decoded at a time


@dataclass(frozen=True)
class Flow:
    """Code that control reaches from an entry: blocks of (first address, address after the last), in order.

    `end` is where control goes on beyond the last byte that it was followed to; 0 where it does not. `sound` says that
    all of it is instructions: data that is taken for code rarely is.
    """

    blocks: tuple[tuple[int, int], ...]
    end: int
    sound: bool


def follow(
    decoder: Decoder,
    read: Callable[[int, int], bytes],
    target: Callable[[Reference], int],
    start: int,
    low: int,
    high: int,
) -> Flow:
    """Follow control from `start` without leaving the addresses from `low` to before `high`.

    `read` gives up to a number of bytes at an address, `target` the address that a direct jump leads to, 0 if unknown.
    Calls are taken to return. Jumps through registers and tables are not followed. Each byte is decoded once.
    """
    blocks: list[tuple[int, int]] = []
    waiting, end, sound = [start], 0, True
    while waiting:
        first = waiting.pop()
        place = bisect_right(blocks, (first, 1 << 64)) - 1
        if place >= 0 and first < blocks[place][1]:
            continue
        limit = min(high, blocks[place + 1][0]) if place + 1 < len(blocks) else high
        last = first
        while last < limit:
            size = min(STEP + decoder.longest, high - last)
            stop, left = _stretch(decoder, read(last, size), last, target, low, high, waiting)
            if left is Kind.INVALID:
                # The last instruction of a stretch may be cut off where the stretch ends.
                if stop + decoder.longest >= last + size and last + size < high and stop > last:
                    last, left = stop, None
                    continue
                sound = False
            last = min(stop, limit)
            if left is not None:
                break
        else:
            if limit == high:
                end = high
        if last > first:
            insort(blocks, (first, last))
    return Flow(tuple(blocks), end, sound)


def _stretch(
    decoder: Decoder,
    raw: bytes,
    address: int,
    target: Callable[[Reference], int],
    low: int,
    high: int,
    waiting: list[int],
) -> tuple[int, Kind | None]:
    """Run through bytes; return where control leaves them and how, or their end and None. Note jumps in `waiting`."""
    for one in decoder.references(raw, address):
        if one.kind in DIRECT and one.kind != Kind.CALL:
            there = target(one)
            if low <= there < high:
                waiting.append(there)
        if one.kind in LEAVES:
            return one.at if one.kind is Kind.INVALID else one.after, one.kind
    return address + len(raw), None
