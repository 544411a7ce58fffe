"""Follows control through code of unknown size, to find the instructions that run after an entry."""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Callable
from dataclasses import dataclass

from ..processors.decoding import LEAVES, Decoder, Kind, Reference

STEP = 4096  # bytes that are decoded at a time


@dataclass(frozen=True)
class Flow:
    """Code that control reaches from an entry: blocks of (first address, address after the last), in order.

    `end` is the end of the followed range if control goes on past this end, and 0 otherwise. `decodable` is false if
    control reaches bytes that are no known instruction: the code may be data.
    """

    blocks: tuple[tuple[int, int], ...]
    end: int
    decodable: bool


def follow(
    decoder: Decoder,
    read: Callable[[int, int], bytes],
    target: Callable[[Reference], int],
    start: int,
    low: int,
    high: int,
) -> Flow:
    """Follow control from `start` in the range of addresses from `low` to before `high`.

    `read` returns the bytes at an address, up to a size. `target` returns the target of a direct jump, 0 if unknown.
    Calls are assumed to return. Jumps through registers and tables are not followed. Blocks do not overlap.
    """
    blocks: list[tuple[int, int]] = []
    entries, end, decodable = [start], 0, True
    while entries:
        block_start = entries.pop()
        index = bisect_right(blocks, (block_start, 1 << 64)) - 1
        if index >= 0 and block_start < blocks[index][1]:
            continue
        limit = min(high, blocks[index + 1][0]) if index + 1 < len(blocks) else high
        block_end, left = block_start, False  # `left`: control does not go on
        while block_end < limit and not left:
            size = min(STEP + decoder.longest, high - block_end)
            after = stop = block_end + size
            for reference in decoder.references(read(block_end, size), block_end):
                if reference.kind in (Kind.JUMP, Kind.BRANCH) and low <= (entry := target(reference)) < high:
                    entries.append(entry)
                if reference.kind is Kind.INVALID:
                    stop = reference.at
                    # An instruction that the end of these bytes may cut off is decoded again with the next bytes.
                    left = after == high or stop + decoder.longest < after or stop == block_end
                    decodable = decodable and not left
                    break
                if left := reference.kind in LEAVES:
                    stop = reference.after
                    break
            block_end = min(stop, limit)
        if not left and limit == high:
            end = high
        if block_end > block_start:
            insort(blocks, (block_start, block_end))
    return Flow(tuple(blocks), end, decodable)
