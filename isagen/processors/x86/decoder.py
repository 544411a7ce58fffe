"""Decodes code of x86-64 with iced-x86."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from operator import attrgetter

import iced_x86
from iced_x86 import Code, FlowControl, FormatterSyntax, Mnemonic, OpKind

from ..decoding import SMALL, Abi, Codes, Decoder, Instruction, Kind, Reference
from .instructions import forms, numbers, width
from .tracking import NUMBERS, Tracking

CODE = attrgetter("code")  # `map` with it is faster than a generator expression
# Immediates that are large enough for an address.
IMMEDIATES = frozenset({OpKind.IMMEDIATE32, OpKind.IMMEDIATE64, OpKind.IMMEDIATE32TO64})
MOVES = frozenset({Mnemonic.MOV, *(number for name, number in numbers(Mnemonic).items() if name.startswith("CMOV"))})
SMALL_MOVES = frozenset({Mnemonic.MOV, Mnemonic.MOVZX, Mnemonic.MOVSX})
COMPARES = frozenset({Mnemonic.CMP, Mnemonic.TEST})
# Immediates of these are no addresses: glibc's open() compares with O_TMPFILE, which may equal a function's address.
MASKS = frozenset({*COMPARES, Mnemonic.AND})
DIRECT = {
    FlowControl.UNCONDITIONAL_BRANCH: Kind.JUMP,
    FlowControl.CONDITIONAL_BRANCH: Kind.BRANCH,
    FlowControl.CALL: Kind.CALL,
    FlowControl.XBEGIN_XABORT_XEND: Kind.BRANCH,
}
THROUGH = {FlowControl.INDIRECT_BRANCH: Kind.JUMP_SLOT, FlowControl.INDIRECT_CALL: Kind.CALL_SLOT}
UNKNOWN = {FlowControl.INDIRECT_BRANCH: Kind.JUMP_UNKNOWN, FlowControl.INDIRECT_CALL: Kind.CALL_UNKNOWN}
ENDS = frozenset({FlowControl.RETURN, FlowControl.EXCEPTION})


class X86Decoder(Tracking, Decoder):
    """The instructions of x86-64."""

    name = "x86"
    invalid: int = Code.INVALID
    longest = 15
    jump_size = 24
    # With -fsanitize=function, Clang before 17 starts functions with a jump over a mark and an offset, which are data
    # (LLVM 16, TargetInfo.cpp, X86_64TargetCodeGenInfo).
    mark, mark_size = b"\xeb\x06v2", 8
    # Zeros, breakpoints, and no-operations of all lengths.
    pad = re.compile(
        rb"(?:[\x00\xcc]|\x66*\x90|\x66*\x2e?\x0f\x1f(?:\x00|\x04\x00|\x40\x00|\x44\x00\x00|\x80\x00{4}|\x84\x00{5}))*"
    )

    forms = staticmethod(forms)
    width = staticmethod(width)

    def __init__(self, abi: Abi) -> None:
        super().__init__(abi)
        self.abi = abi

    def decode(self, raw: bytes, address: int) -> Iterator[iced_x86.Instruction]:
        return iter(iced_x86.Decoder(64, raw, ip=address))

    def codes(self, raw: bytes, address: int) -> Codes:
        return frozenset(map(CODE, self.decode(raw, address)))

    def references(self, raw: bytes, address: int, fixed: bool = False, linked: bool = True) -> Iterator[Reference]:
        for instruction in iced_x86.Decoder(64, raw, ip=address):
            flow = instruction.flow_control
            kind, target = None, 0
            if flow == FlowControl.NEXT:
                if instruction.is_ip_rel_memory_operand:
                    kind, target = self._kind(instruction), instruction.ip_rel_memory_address
                elif instruction.code == Code.CPUID:
                    kind = Kind.CPU_CHECK
                elif fixed:
                    yield from self._fixed(instruction)
            elif flow in DIRECT:
                kind, target = DIRECT[flow], instruction.near_branch_target
            elif flow in THROUGH and instruction.is_ip_rel_memory_operand:
                kind, target = THROUGH[flow], instruction.ip_rel_memory_address
            elif flow in UNKNOWN:
                if fixed:  # a jump table
                    yield from self._fixed(instruction)
                kind = UNKNOWN[flow]
            elif instruction.code == Code.INVALID:
                kind = Kind.INVALID
            elif flow in ENDS:
                kind = Kind.END
            if kind is not None:
                yield Reference(instruction.ip, instruction.next_ip, kind, target)

    def _kind(self, instruction: iced_x86.Instruction) -> Kind:
        """Return the kind of an instruction's reference to memory relative to RIP."""
        if instruction.mnemonic == Mnemonic.LEA:
            return Kind.ADDRESS
        to_register = instruction.op0_kind == OpKind.REGISTER
        if iced_x86.MemorySizeExt.size(instruction.memory_size) <= SMALL:
            reads = instruction.mnemonic in (SMALL_MOVES if to_register else COMPARES)
            if reads and (to_register or instruction.op1_kind in NUMBERS):
                return Kind.FLAG
        elif to_register and instruction.mnemonic in MOVES:
            return Kind.LOAD
        return Kind.READ if to_register else Kind.WRITE

    @staticmethod
    def _fixed(instruction: iced_x86.Instruction) -> Iterator[Reference]:
        """Yield a reference for each number in an instruction that may be an address, in a file at fixed addresses."""
        for number in range(instruction.op_count):
            kind = instruction.op_kind(number)
            if kind in IMMEDIATES and instruction.mnemonic not in MASKS and (value := instruction.immediate(number)):
                yield Reference(instruction.ip, instruction.next_ip, Kind.NUMBER, value % (1 << 64))
            elif kind == OpKind.MEMORY and instruction.memory_displ_size >= 4 and instruction.memory_displacement:
                yield Reference(instruction.ip, instruction.next_ip, Kind.NUMBER, instruction.memory_displacement)

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
