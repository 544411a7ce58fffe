"""Where control goes on to inside a function: branches, and jumps through tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property

from ..processors.decoding import CONDITIONAL, INDIRECT, LEAVES, UNCONDITIONAL, Instruction
from .references import References
from .states import HALF, Entry, Value

MOST = 4096  # entries of a table of jumps


class Ways:
    """The ways of control between a function's instructions, by their places in the list of these."""

    def __init__(self, references: References, listed: Sequence[Instruction]) -> None:
        self._code = references.code
        self._references = references
        self._listed = listed
        self.index = {instruction.ip: place for place, instruction in enumerate(listed)}
        self.jumps: dict[int, tuple[int, ...]] = {}  # through tables: by place in the list, the places that follow

    @property
    def heads(self) -> set[int]:
        """The places in the list that control may come to other than from the one before."""
        found = {after for place, after in enumerate(self._branches) if after >= 0 and after != place + 1}
        return found.union(*self.jumps.values())

    @cached_property
    def _branches(self) -> list[int]:
        """By place in the list, the place that the instruction there may branch to; -1 where it does not."""
        return [
            self.index.get(self._code.branch(instruction), -1)
            if instruction.flow_control in (CONDITIONAL, UNCONDITIONAL)
            else -1
            for instruction in self._listed
        ]

    @cached_property
    def _runs_on(self) -> list[bool]:
        """By place in the list, whether control goes on to the next place."""
        after = [instruction.ip for instruction in self._listed[1:]]
        return [
            one.next_ip == ip and one.flow_control not in LEAVES for one, ip in zip(self._listed, after, strict=False)
        ] + [False]

    def after(self, place: int) -> tuple[int, ...]:
        """Return the places in the list that control goes on to."""
        if place in self.jumps:
            return self.jumps[place]
        branch = self._branches[place]
        found = (place + 1,) if self._runs_on[place] else ()
        return (*found, branch) if branch >= 0 else found

    def find_jumps(self, jumps: Iterable[tuple[Instruction, frozenset[Value]]]) -> bool:
        """Find where jumps with these targets lead inside the function; return whether any is new."""
        new = False
        for instruction, targets in jumps:
            place = self.index[instruction.ip]
            inside = {self.index[t] for t in targets if isinstance(t, int) and t in self.index}
            if inside and tuple(sorted(inside)) != self.jumps.get(place):
                inside.update(self.jumps.get(place, ()))
                self.jumps[place] = tuple(sorted(inside))
                new = True
        return new

    def entries(self, entry: Entry) -> frozenset[int]:
        """Return where a jump through a table leads to: as far as its entries are places in the function."""
        if entry.size == HALF and not entry.added:
            return frozenset()
        found: set[int] = set()
        for number in range(MOST):
            target = self._references.entry(entry.table, number, entry.size)
            if target not in self.index:
                break
            found.add(target)
        return frozenset(found)


def is_jump(instruction: Instruction) -> bool:
    """Return whether an instruction jumps to an address in a register or pointer."""
    return instruction.flow_control in INDIRECT and instruction.flow_control in LEAVES
