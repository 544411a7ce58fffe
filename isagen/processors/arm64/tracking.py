"""Tracks addresses in arm64 registers: those that pairs of instructions form, and the arguments of calls."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from ..decoding import Abi
from .words import MASK, PAGE, is_call, signed, written

NO_REGISTER = 31  # the zero register or the stack pointer, by the instruction
LINKAGE = range(19)  # registers that a call may change


@dataclass
class Addresses:
    """The addresses that are in registers, as far as ADR, ADRP, ADD and loads from known places show.

    `formed` are addresses, and `loaded` the places from which pointers were loaded, by register. Instructions are seen
    in the order of addresses: where control arrives from elsewhere, a register may contain something else.
    """

    formed: dict[int, int] = field(default_factory=dict)
    loaded: dict[int, int] = field(default_factory=dict)

    def address_of(self, word: int, address: int) -> int | None:
        """Return the address that ADR, ADRP or ADD forms; None for other instructions and unknown addresses."""
        if word & 0x1F000000 == 0x10000000:
            offset = signed(word >> 3 & 0x1FFFFC | word >> 29 & 3, 21)
            return (address & -PAGE) + PAGE * offset & MASK if word >> 31 else address + offset & MASK
        if word & 0xFF800000 == 0x91000000 and (base := self.formed.get(word >> 5 & 31)) is not None:
            return base + ((word >> 10 & 0xFFF) << (12 if word >> 22 & 1 else 0)) & MASK
        return None

    def copy(self) -> Addresses:
        """Return a copy, for another place that control reaches."""
        return Addresses(dict(self.formed), dict(self.loaded))

    def forget(self, registers: Iterable[int]) -> None:
        """Forget what is in registers, which are written."""
        for register in registers:
            self.formed.pop(register, None)
            self.loaded.pop(register, None)


def call_arguments(
    words: Iterable[tuple[int, int]],
    abi: Abi,
    formed: Mapping[int, int],
    join_points: Container[int],
    calls: Mapping[int, Sequence[int]],
) -> Mapping[int, Sequence[int]]:
    """Do as `decoding.Decoder.call_arguments` does, for (address, word) of each instruction."""
    values: dict[int, int] = {}  # by register
    arguments = {}
    numbers = [int(name[1:]) for name in abi.arguments]
    preserved = {int(name[1:]) for name in abi.preserved}
    for address, word in words:
        if address in join_points:
            values.clear()
        if address in calls:
            arguments[address] = [values.get(numbers[place], 0) for place in calls[address]]
        if is_call(word):
            values = {register: value for register, value in values.items() if register in preserved}
            continue
        value = formed.get(address, 0)
        if word & 0xFFE0FFE0 == 0xAA0003E0:  # MOV of a register
            value = value or values.get(word >> 16 & 31, 0)
        for register in written(word):
            values.pop(register, None)
        if value and word & 31 != NO_REGISTER:
            values[word & 31] = value
    return arguments
