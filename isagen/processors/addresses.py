"""Tracks the addresses in registers, and resolves loads and stores at these addresses."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from .decoding import SMALL, Kind

MASK = (1 << 64) - 1
Found = tuple[Kind | None, int]  # the kind and the address of an instruction's reference
NOTHING: Found = (None, 0)


def signed(value: int, bits: int) -> int:
    """Return the signed number that a field of `bits` bits contains."""
    return value - (1 << bits) if value >> (bits - 1) else value


class Access(NamedTuple):
    """A load or store at a base register and an offset; `size` is in bytes.

    `general` is true if one general register is loaded or stored.
    """

    base: int
    offset: int
    size: int
    is_load: bool
    general: bool


@dataclass
class Addresses:
    """The addresses that registers are known to contain.

    `formed` maps a register to the address that instructions formed in it, and `loaded` a register to the place from
    which its pointer was loaded. Instructions are read in the order of their addresses, so a register may contain
    another value if control arrives by a jump.
    """

    formed: dict[int, int] = field(default_factory=dict)
    loaded: dict[int, int] = field(default_factory=dict)

    def copy(self) -> Addresses:
        """Return a copy, for the target of a jump."""
        return Addresses(dict(self.formed), dict(self.loaded))

    def reference(self, access: Access) -> Found:
        """Return the reference of a load or store.

        If the address is unknown, there is none, except for a small load through a loaded pointer: it refers to the
        place from which the pointer was loaded.
        """
        is_flag = access.is_load and access.general and access.size <= SMALL
        base = self.formed.get(access.base)
        if base is not None:
            kind = Kind.LOAD if access.general else Kind.READ
            return (Kind.FLAG if is_flag else kind if access.is_load else Kind.WRITE), base + access.offset & MASK
        loaded = self.loaded.get(access.base)
        return (Kind.FLAG, loaded) if loaded is not None and is_flag else NOTHING

    def used(self, access: Access | None, written: Sequence[int]) -> Found:
        """Return the reference of an instruction that writes the registers `written`, and update the addresses."""
        kind, place = self.reference(access) if access is not None else NOTHING
        self.forget(written)
        if kind is Kind.LOAD and written:
            self.loaded[written[0]] = place
        return kind, place

    def forget(self, registers: Iterable[int]) -> None:
        """Forget the contents of `registers`."""
        for register in registers:
            self.formed.pop(register, None)
            self.loaded.pop(register, None)
