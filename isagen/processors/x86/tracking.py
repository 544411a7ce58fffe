"""Tracks values in x86-64 registers, to find arguments of calls and tests of the toolchain's variables."""

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

from ..decoding import Abi, Move
from .instructions import numbers

CALLS = frozenset({FlowControl.CALL, FlowControl.INDIRECT_CALL})
WRITES = frozenset({OpAccess.WRITE, OpAccess.COND_WRITE, OpAccess.READ_WRITE, OpAccess.READ_COND_WRITE})
NUMBERS = frozenset(kind for name, kind in numbers(OpKind).items() if name.startswith("IMMEDIATE"))
SIGNS = frozenset({ConditionCode.S, ConditionCode.NS})
TESTS = frozenset({Mnemonic.TEST, Mnemonic.AND, Mnemonic.CMP, Mnemonic.BT, Mnemonic.SHR})
BY_NUMBER = frozenset({Mnemonic.BT, Mnemonic.SHR})  # their immediate is the number of a bit, not a mask
OTHER = -1  # stands for a test of other bits than those of features


class Tracking:
    """Tracks values in registers through instructions, which are read in the order of their addresses."""

    def __init__(self, abi: Abi) -> None:
        registers = numbers(Register)
        self.argument_registers: Sequence[int] = [registers[name] for name in abi.arguments]
        self.preserved_registers: Container[int] = {registers[name] for name in abi.preserved}
        self._factory = InstructionInfoFactory()
        self._full = RegisterExt.full_register

    def moves(self, raw: bytes, address: int) -> Iterator[Move]:
        """See `decoding.Decoder.moves`."""
        for instruction in Decoder(64, raw, ip=address):
            is_copy = instruction.mnemonic == Mnemonic.MOV and instruction.op1_kind == OpKind.REGISTER
            used = self._factory.info(instruction).used_registers()
            written = [self._full(one.register) for one in used if one.access in WRITES]
            calls = instruction.flow_control in CALLS
            yield Move(instruction.ip, calls, instruction.op1_register if is_copy else None, written)

    def tested_bits(
        self, raw: bytes, address: int, words: Mapping[int, int], slots: Mapping[int, int]
    ) -> frozenset[int]:
        """See `decoding.Decoder.tested_bits`."""
        tested: set[int] = set()
        bases: dict[int, int] = {}  # by register: the address of a variable, if the register contains one
        loaded = None  # the address of the last access to such a variable
        for instruction in Decoder(64, raw, ip=address):
            kinds = [instruction.op_kind(number) for number in range(instruction.op_count)]
            place = self._place(instruction, bases) if OpKind.MEMORY in kinds else None
            if place is not None and (place in slots or instruction.mnemonic == Mnemonic.LEA):
                bases[instruction.op0_register] = slots.get(place, place)
                continue
            if place is not None and (place & ~3) not in words:
                place = None
            number = next((instruction.immediate(n) for n, kind in enumerate(kinds) if kind in NUMBERS), None)
            if instruction.mnemonic == Mnemonic.MOV and number in words and kinds[0] == OpKind.REGISTER:
                bases[self._full(instruction.op0_register)] = number or 0
            at = place if place is not None else loaded
            if instruction.mnemonic in TESTS and number is not None and at is not None:
                bits = 1 << (number & 31) if instruction.mnemonic in BY_NUMBER else number & 0xFFFFFFFF
                in_second_byte = kinds[0] == OpKind.REGISTER and Register.AH <= instruction.op0_register <= Register.BH
                bits <<= 8 * (at & 3) + 8 * in_second_byte
                first = words[at & ~3]
                tested.update([OTHER] if first < 0 else (first + bit for bit in range(32) if bits >> bit & 1))
            elif place is not None:
                loaded = place
            elif instruction.condition_code in SIGNS and loaded is not None:
                tested.update(words[loaded & ~3] + bit for bit in (7, 15, 31) if words[loaded & ~3] >= 0)
        return frozenset(tested)

    @staticmethod
    def _place(instruction: Instruction, bases: Mapping[int, int]) -> int | None:
        """Return the address of an operand in memory; None if it is unknown."""
        if instruction.is_ip_rel_memory_operand:
            return instruction.ip_rel_memory_address
        base = bases.get(instruction.memory_base) if instruction.memory_base else 0
        return base + instruction.memory_displacement if base is not None and not instruction.memory_index else None
