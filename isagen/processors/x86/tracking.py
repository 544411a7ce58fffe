"""Values in x86-64 registers within one run of instructions: arguments of calls, and tests of the toolchain's words."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence

from iced_x86 import (
    ConditionCode,
    Decoder,
    FlowControl,
    Instruction,
    InstructionInfoFactory,
    Mnemonic,
    OpAccess,
    OpKind,
    Register,
    RegisterExt,
)

from ..decoding import Abi
from .instructions import numbers

CALLS = frozenset({FlowControl.CALL, FlowControl.INDIRECT_CALL})
WRITES = frozenset({OpAccess.WRITE, OpAccess.COND_WRITE, OpAccess.READ_WRITE, OpAccess.READ_COND_WRITE})
NUMBERS = frozenset(kind for name, kind in numbers(OpKind).items() if name.startswith("IMMEDIATE"))
SIGNS = frozenset({ConditionCode.S, ConditionCode.NS})
TESTS = frozenset({Mnemonic.TEST, Mnemonic.AND, Mnemonic.CMP, Mnemonic.BT, Mnemonic.SHR})
BY_NUMBER = frozenset({Mnemonic.BT, Mnemonic.SHR})  # of a bit
OTHER = -1  # in the place of a bit: a test that asks for something else


class Tracking:
    """What runs of instructions put into registers."""

    def __init__(self, abi: Abi) -> None:
        registers = numbers(Register)
        self._arguments = [registers[name] for name in abi.arguments]
        self._preserved = {registers[name] for name in abi.preserved}
        self._factory = InstructionInfoFactory()
        self._full = RegisterExt.full_register

    def call_arguments(
        self,
        raw: bytes,
        address: int,
        formed: Mapping[int, int],
        entered: Container[int],
        calls: Mapping[int, Sequence[int]],
    ) -> Mapping[int, Sequence[int]]:
        """Return which values calls in `raw` hand over as arguments (`decoding.Decoder.call_arguments`)."""
        known: dict[int, int] = {}
        found = {}
        for one in Decoder(64, raw, ip=address):
            if one.ip in entered:
                known.clear()
            if one.ip in calls:
                found[one.ip] = [known.get(self._arguments[number], 0) for number in calls[one.ip]]
            if one.flow_control in CALLS:
                known = {register: value for register, value in known.items() if register in self._preserved}
                continue
            value = formed.get(one.ip, 0)
            if one.mnemonic == Mnemonic.MOV and not value and one.op1_kind == OpKind.REGISTER:
                value = known.get(one.op1_register, 0)
            for used in self._factory.info(one).used_registers() if known else ():
                if used.access in WRITES:
                    known.pop(self._full(used.register), None)
            if value:
                known[self._full(one.op0_register)] = value
        return found

    def tested_bits(
        self, raw: bytes, address: int, words: Mapping[int, int], slots: Mapping[int, int]
    ) -> frozenset[int]:
        """Return the bits that instructions test, by number; OTHER is among them where a test asks something else.

        `words` has the number of the first bit in each 32-bit word of the toolchain's variables, by address, and
        `slots` the addresses of these variables by those of the linker's pointers to them.
        """
        found: set[int] = set()
        bases: dict[int, int] = {}  # by register, the variable whose address it holds
        loaded = None  # where the value in a register is from
        for one in Decoder(64, raw, ip=address):
            kinds = [one.op_kind(number) for number in range(one.op_count)]
            place = self._place(one, bases) if OpKind.MEMORY in kinds else None
            if place is not None and (place in slots or one.mnemonic == Mnemonic.LEA):
                bases[one.op0_register] = slots.get(place, place)
                continue
            if place is not None and (place & ~3) not in words:
                place = None
            number = next((one.immediate(n) for n, kind in enumerate(kinds) if kind in NUMBERS), None)
            if one.mnemonic == Mnemonic.MOV and number in words and kinds[0] == OpKind.REGISTER:
                bases[self._full(one.op0_register)] = number or 0
            tests = one.mnemonic in TESTS and number is not None
            if place is not None and not tests:
                loaded = place
            elif tests and (at := place if place is not None else loaded) is not None:
                shift = 8 if kinds[0] == OpKind.REGISTER and Register.AH <= one.op0_register <= Register.BH else 0
                found.update(self._bits(words, at, number or 0, shift, one.mnemonic in BY_NUMBER))
            elif one.condition_code in SIGNS and loaded is not None:
                found.update(words[loaded & ~3] + bit for bit in (7, 15, 31) if words[loaded & ~3] >= 0)
        return frozenset(found)

    @staticmethod
    def _place(one: Instruction, bases: Mapping[int, int]) -> int | None:
        if one.is_ip_rel_memory_operand:
            return one.ip_rel_memory_address
        base = bases.get(one.memory_base) if one.memory_base else 0
        return base + one.memory_displacement if base is not None and not one.memory_index else None

    @staticmethod
    def _bits(words: Mapping[int, int], place: int, number: int, shift: int, is_bit: bool) -> Iterator[int]:
        first = words[place & ~3]
        if first < 0:
            yield OTHER
            return
        mask = 1 << (number & 31) if is_bit else number & 0xFFFFFFFF
        mask <<= shift + 8 * (place & 3)
        yield from (first + bit for bit in range(32) if mask >> bit & 1)
