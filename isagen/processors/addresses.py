"""Tracks addresses in registers: those that pairs of instructions form, and the arguments of calls."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

MASK = (1 << 64) - 1


def signed(value: int, bits: int) -> int:
    """Return the signed number that a field of `bits` bits contains."""
    return value - (1 << bits) if value >> (bits - 1) else value


@dataclass
class Addresses:
    """The addresses that registers are known to contain.

    `formed` maps a register to the address that instructions formed in it, and `loaded` a register to the place from
    which its pointer was loaded. Instructions are seen in the order of their addresses: after a jump from elsewhere, a
    register may contain another value.
    """

    formed: dict[int, int] = field(default_factory=dict)
    loaded: dict[int, int] = field(default_factory=dict)

    def copy(self) -> Addresses:
        """Return a copy, for the target of a jump."""
        return Addresses(dict(self.formed), dict(self.loaded))

    def forget(self, registers: Iterable[int]) -> None:
        """Forget the contents of `registers`, which an instruction writes."""
        for register in registers:
            self.formed.pop(register, None)
            self.loaded.pop(register, None)
