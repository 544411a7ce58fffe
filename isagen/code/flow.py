"""Follows control through code of unknown size, to find the instructions that run after an entry."""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Callable
from dataclasses import dataclass

from ..processors.decoding import DIRECT, LEAVES, Decoder, Kind, Reference

STEP = 4096  # bytes that are decoded at a time


@dataclass(frozen=True)
class Flow:
    """Code that control reaches from an entry: blocks of (first address, address after the last), in order.

    `end` is the end of the followed range if control falls through it, and 0 otherwise. `decodable` is false if control
    reaches bytes that are no known instruction: the code may be data.
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
        block_end = block_start
        while block_end < limit:
            size = min(STEP + decoder.longest, high - block_end)
            stop, kind = _stretch(decoder, read(block_end, size), block_end, target, low, high, entries)
            if kind is Kind.INVALID:
                # An instruction that is cut off at the end of the bytes read is decoded again with the next bytes.
                if stop + decoder.longest >= block_end + size and block_end + size < high and stop > block_end:
                    block_end = stop
                    continue
                decodable = False
            block_end = min(stop, limit)
            if kind is not None:
                break
        else:
            if limit == high:
                end = high
        if block_end > block_start:
            insort(blocks, (block_start, block_end))
    return Flow(tuple(blocks), end, decodable)


def _stretch(
    decoder: Decoder,
    raw: bytes,
    address: int,
    target: Callable[[Reference], int],
    low: int,
    high: int,
    entries: list[int],
) -> tuple[int, Kind | None]:
    """Decode `raw` up to the first instruction that does not continue with the next. Add targets of jumps to `entries`.

    Return the address after that instruction, and the instruction's kind. For an invalid instruction, return its own
    address. If all instructions continue, return the address after `raw`, and None.
    """
    for reference in decoder.references(raw, address):
        if reference.kind in DIRECT and reference.kind != Kind.CALL:
            entry = target(reference)
            if low <= entry < high:
                entries.append(entry)
        if reference.kind in LEAVES:
            return reference.at if reference.kind is Kind.INVALID else reference.after, reference.kind
    return address + len(raw), None
