"""Code that nobody says the length of: what of it runs, found by going the way that a CPU would."""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Callable
from dataclasses import dataclass

from ..processors.x86.instructions import INVALID, iced_x86

# iced-x86's FlowControl.
NEXT, UNCONDITIONAL, INDIRECT_BRANCH, CONDITIONAL, RETURN, CALL, INDIRECT_CALL, INTERRUPT, TRANSACTION, EXCEPTION = (
    range(10)
)
LEAVES = frozenset({UNCONDITIONAL, INDIRECT_BRANCH, RETURN, INTERRUPT, EXCEPTION})
STEP = 4096  # bytes that are read at a time


@dataclass(frozen=True)
class Flow:
    """Code that control gets to: blocks of (first address, address after the last), in order.

    `end` is where control goes on beyond the last byte that it was followed to; 0 where it does not. `sound` says that
    all of it is instructions: data that is taken for code rarely is.
    """

    blocks: tuple[tuple[int, int], ...]
    end: int
    sound: bool = True

    def covers(self, address: int) -> bool:
        """Return whether an address is in one of the blocks."""
        place = bisect_right(self.blocks, (address, 1 << 64)) - 1
        return place >= 0 and address < self.blocks[place][1]


def follow(
    read: Callable[[int, int], bytes],
    branch: Callable[[iced_x86.Instruction], int],
    start: int,
    low: int,
    high: int,
) -> Flow:
    """Return what control gets to from `start` without leaving the addresses from `low` to before `high`.

    `read` gives up to a number of bytes at an address, `branch` the address that an instruction jumps to, 0 if unknown.
    Calls are taken to return. Jumps through registers and tables are not followed.
    """
    blocks: list[tuple[int, int]] = []
    waiting = [start]
    end = 0
    sound = True
    while waiting:
        address = first = waiting.pop()
        place = bisect_right(blocks, (address, 1 << 64)) - 1
        if place >= 0 and address < blocks[place][1]:
            continue
        # As far as the next block that is known.
        limit = min(high, blocks[place + 1][0]) if place + 1 < len(blocks) else high
        going = True
        while going and address < limit:
            raw = read(address, min(STEP, high - address))
            decoder = iced_x86.Decoder(64, raw, ip=address)
            before = address
            for instruction in decoder:
                if address >= limit:
                    break
                if instruction.code == INVALID:
                    # Perhaps only cut off by the end of what was read.
                    going = before + len(raw) < high and address > before and before + len(raw) - address < 15
                    sound = sound and going
                    break
                address = instruction.next_ip
                flow = instruction.flow_control
                if flow in (CONDITIONAL, UNCONDITIONAL):
                    target = branch(instruction)
                    if low <= target < high:
                        waiting.append(target)
                if flow in LEAVES:
                    going = False
                    break
            if address == before:
                break
        if address > first:
            insort(blocks, (first, address))
        if going and address >= high:
            end = address
    return Flow(tuple(blocks), end, sound)
