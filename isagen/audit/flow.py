"""Following control through code: which bytes after an entry are instructions that run."""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Callable

from ..model.frozen import dataclass, field
from ..processors.decoding import CONDITIONAL, LEAVES, UNCONDITIONAL, Decoder, Instruction

STEP = 4096  # bytes that are read at a time


@dataclass(frozen=True)
class Flow:
    """Code that control reaches from an entry: blocks of (first address, address after the last), in order.

    `end` is where control goes on beyond the last byte that it was followed to; 0 where it does not. `sound` says that
    all of it is instructions: data that is taken for code rarely is.
    """

    blocks: tuple[tuple[int, int], ...]
    end: int
    sound: bool = True


@dataclass
class Follower:
    """Follows control without leaving the addresses from `low` to before `high`.

    `read` gives up to a number of bytes at an address, `branch` the address that an instruction jumps to, 0 if unknown.
    Calls are taken to return. Jumps through registers and tables are not followed.
    """

    decoder: Decoder
    read: Callable[[int, int], bytes]
    branch: Callable[[Instruction], int]
    low: int
    high: int
    _blocks: list[tuple[int, int]] = field(default_factory=list)
    _waiting: list[int] = field(default_factory=list)
    _sound: bool = True

    def follow(self, start: int) -> Flow:
        """Return the code that control reaches from `start`."""
        end = 0
        self._waiting.append(start)
        while self._waiting:
            first = self._waiting.pop()
            place = bisect_right(self._blocks, (first, 1 << 64)) - 1
            if place >= 0 and first < self._blocks[place][1]:
                continue
            # As far as the next block that is known.
            limit = min(self.high, self._blocks[place + 1][0]) if place + 1 < len(self._blocks) else self.high
            last, goes_on = self._block(first, limit)
            if last > first:
                insort(self._blocks, (first, last))
            if goes_on and last >= self.high:
                end = last
        return Flow(tuple(self._blocks), end, self._sound)

    def _block(self, address: int, limit: int) -> tuple[int, bool]:
        """Run from `address` to `limit` at most; return where that ends, and whether control goes on there."""
        goes_on = True
        while goes_on and address < limit:
            before = address
            address, goes_on = self._piece(address, limit)
            if address == before:
                break
        return address, goes_on

    def _piece(self, address: int, limit: int) -> tuple[int, bool]:
        """Run as `_block` does, through as many bytes as are read at a time."""
        raw = self.read(address, min(STEP, self.high - address))
        before, read_to = address, address + len(raw)
        for instruction in self.decoder.decode(raw, address):
            if address >= limit:
                break
            if instruction.code == self.decoder.invalid:
                # Perhaps only cut off by the end of what was read.
                cut = read_to < self.high and address > before and read_to - address < self.decoder.longest
                self._sound = self._sound and cut
                return address, cut
            address = instruction.next_ip
            flow = instruction.flow_control
            if flow in (CONDITIONAL, UNCONDITIONAL):
                target = self.branch(instruction)
                if self.low <= target < self.high:
                    self._waiting.append(target)
            if flow in LEAVES:
                return address, False
        return address, True
