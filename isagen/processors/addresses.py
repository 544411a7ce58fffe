"""Tracks addresses in registers: those that pairs of instructions form, and the arguments of calls."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

MASK = (1 << 64) - 1


def signed(value: int, bits: int) -> int:
    """Return a field of some bits as a signed number."""
    return value - (1 << bits) if value >> (bits - 1) else value


@dataclass
class Addresses:
    """The addresses that are in registers, as far as instructions that form them and loads from known places show.

    `formed` are addresses, and `loaded` the places from which pointers were loaded, by register. Instructions are seen
    in the order of addresses: where control arrives from elsewhere, a register may contain something else.
    """

    formed: dict[int, int] = field(default_factory=dict)
    loaded: dict[int, int] = field(default_factory=dict)

    def copy(self) -> Addresses:
        """Return a copy, for another place that control reaches."""
        return Addresses(dict(self.formed), dict(self.loaded))

    def forget(self, registers: Iterable[int]) -> None:
        """Forget what is in registers, which are written."""
        for register in registers:
            self.formed.pop(register, None)
            self.loaded.pop(register, None)
