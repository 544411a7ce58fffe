"""Decoding the code of x86-64 with iced-x86 (`isagen.processors.decoding.Decoder`), and its relocation types."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from operator import attrgetter

import iced_x86
from iced_x86 import Code, FlowControl, FormatterSyntax, Mnemonic, OpKind

from ..decoding import Abi, Codes, Instruction, Kind, Reference
from .instructions import codes_of, needs, numbers, width
from .tracking import NUMBERS, Tracking

# Of an instruction; faster than a generator expression.
CODE = attrgetter("code")
# Immediates that an address fits into.
IMMEDIATES = frozenset({OpKind.IMMEDIATE32, OpKind.IMMEDIATE64, OpKind.IMMEDIATE32TO64})
SMALL = 4  # bytes of a flag
MOVES = frozenset({Mnemonic.MOV, *(number for name, number in numbers(Mnemonic).items() if name.startswith("CMOV"))})
SMALL_MOVES = frozenset({Mnemonic.MOV, Mnemonic.MOVZX, Mnemonic.MOVSX})
COMPARES = frozenset({Mnemonic.CMP, Mnemonic.TEST})
DIRECT = {
    FlowControl.UNCONDITIONAL_BRANCH: Kind.JUMP,
    FlowControl.CONDITIONAL_BRANCH: Kind.BRANCH,
    FlowControl.CALL: Kind.CALL,
    FlowControl.XBEGIN_XABORT_XEND: Kind.BRANCH,
}
THROUGH = {FlowControl.INDIRECT_BRANCH: Kind.JUMP_SLOT, FlowControl.INDIRECT_CALL: Kind.CALL_SLOT}
UNKNOWN = {FlowControl.INDIRECT_BRANCH: Kind.JUMP_UNKNOWN, FlowControl.INDIRECT_CALL: Kind.CALL_UNKNOWN}
ENDS = frozenset({FlowControl.RETURN, FlowControl.EXCEPTION})
# Bytes of an operand in memory whose size iced-x86 does not know: those of a tile.
TILE = 1024
# Padding between functions, by assemblers and linkers: zeros, breakpoints, and no-operations of all lengths.
PADDING = re.compile(
    rb"(?:[\x00\xcc]|\x66*\x90|\x66*\x2e?\x0f\x1f(?:\x00|\x04\x00|\x40\x00|\x44\x00\x00|\x80\x00{4}|\x84\x00{5}))*"
)


class X86Decoder(Tracking):
    """The instructions of x86-64 (`isagen.processors.decoding.Decoder`)."""

    name = "x86"
    invalid: int = Code.INVALID
    longest = 15
    jump_size = 24
    # The first bytes of functions by Clang before 17, -fsanitize=function: a jump over a mark and the offset of the
    # function's type, which are no instructions (LLVM 16, TargetInfo.cpp, X86_64TargetCodeGenInfo).
    mark, mark_size = b"\xeb\x06v2", 8

    codes_of, width, needs = staticmethod(codes_of), staticmethod(width), staticmethod(needs)

    def __init__(self, abi: Abi) -> None:
        super().__init__(abi)
        self.abi = abi

    def decode(self, raw: bytes, address: int) -> Iterator[iced_x86.Instruction]:
        return iter(iced_x86.Decoder(64, raw, ip=address))

    def codes(self, raw: bytes, address: int) -> Codes:
        return frozenset(map(CODE, iced_x86.Decoder(64, raw, ip=address)))

    def references(self, raw: bytes, address: int, fixed: bool = False) -> Iterator[Reference]:
        for one in iced_x86.Decoder(64, raw, ip=address):
            flow = one.flow_control
            if flow == FlowControl.NEXT:
                if one.is_ip_rel_memory_operand:
                    yield Reference(one.ip, one.next_ip, self._kind(one), one.ip_rel_memory_address)
                elif one.code == Code.CPUID:
                    yield Reference(one.ip, one.next_ip, Kind.QUESTION, 0)
                elif fixed:
                    yield from self._fixed(one)
            elif flow in DIRECT:
                yield Reference(one.ip, one.next_ip, DIRECT[flow], one.near_branch_target)
            elif flow in THROUGH:
                if one.is_ip_rel_memory_operand:
                    yield Reference(one.ip, one.next_ip, THROUGH[flow], one.ip_rel_memory_address)
                else:
                    if fixed:  # a table
                        yield from self._fixed(one)
                    yield Reference(one.ip, one.next_ip, UNKNOWN[flow], 0)
            elif one.code == Code.INVALID:
                yield Reference(one.ip, one.next_ip, Kind.INVALID, 0)
            elif flow in ENDS:
                yield Reference(one.ip, one.next_ip, Kind.END, 0)

    def _kind(self, one: iced_x86.Instruction) -> Kind:
        """Return how an instruction refers to memory at a distance from itself."""
        if one.mnemonic == Mnemonic.LEA:
            return Kind.ADDRESS
        to_register = one.op0_kind == OpKind.REGISTER
        if iced_x86.MemorySizeExt.size(one.memory_size) <= SMALL:
            reads = one.mnemonic in (SMALL_MOVES if to_register else COMPARES)
            if reads and (to_register or one.op1_kind in NUMBERS):
                return Kind.FLAG
        elif to_register and one.mnemonic in MOVES:
            return Kind.LOAD
        return Kind.READ if to_register else Kind.WRITE

    @staticmethod
    def _fixed(one: iced_x86.Instruction) -> Iterator[Reference]:
        """Yield the numbers of an instruction that may be addresses."""
        for number in range(one.op_count):
            kind = one.op_kind(number)
            if kind in IMMEDIATES and (value := one.immediate(number)):
                yield Reference(one.ip, one.next_ip, Kind.NUMBER, value % (1 << 64))
            elif kind == OpKind.MEMORY and one.memory_displ_size >= 4 and one.memory_displacement:
                yield Reference(one.ip, one.next_ip, Kind.NUMBER, one.memory_displacement)

    def text(self, instruction: Instruction) -> str:
        assert isinstance(instruction, iced_x86.Instruction)
        return self._formatter.format(instruction)

    @cached_property
    def _formatter(self) -> iced_x86.Formatter:
        formatter = iced_x86.Formatter(FormatterSyntax.INTEL)
        formatter.hex_prefix, formatter.hex_suffix = "0x", ""
        formatter.rip_relative_addresses = True
        formatter.space_after_operand_separator = True
        return formatter

    def padding(self, raw: bytes) -> int:
        found = PADDING.match(raw)
        return found.end() if found else 0

    def memory_bytes(self, instruction: Instruction) -> int:
        assert isinstance(instruction, iced_x86.Instruction)
        kinds = [instruction.op_kind(number) for number in range(instruction.op_count)]
        if OpKind.MEMORY not in kinds or instruction.mnemonic == Mnemonic.LEA:
            return 1
        return iced_x86.MemorySizeExt.size(instruction.memory_size) or TILE
