"""Decodes code of x86-64 with iced-x86."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Mapping, Sequence
from functools import cache, cached_property
from operator import attrgetter
from types import ModuleType

import iced_x86
from iced_x86 import Code, ConditionCode, FlowControl, FormatterSyntax, Mnemonic, OpAccess, OpKind, Register

from ..decoding import SMALL, Abi, Codes, Decoder, Form, Instruction, Kind, Move, Reference


def numbers(enumeration: ModuleType) -> Mapping[str, int]:
    """Return the members of one of iced-x86's enumerations: numbers by name."""
    return {name: value for name, value in vars(enumeration).items() if isinstance(value, int)}


CODE = attrgetter("code")  # `map` with it is faster than a generator expression
# Immediates that are large enough for an address.
IMMEDIATES = frozenset({OpKind.IMMEDIATE32, OpKind.IMMEDIATE64, OpKind.IMMEDIATE32TO64})
MOVES = frozenset({Mnemonic.MOV, *(number for name, number in numbers(Mnemonic).items() if name.startswith("CMOV"))})
SMALL_MOVES = frozenset({Mnemonic.MOV, Mnemonic.MOVZX, Mnemonic.MOVSX})
COMPARES = frozenset({Mnemonic.CMP, Mnemonic.TEST})
# Their immediates are no addresses: glibc's open() compares with O_TMPFILE, which may equal a function's address.
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
CALLS = frozenset({FlowControl.CALL, FlowControl.INDIRECT_CALL})
WRITES = frozenset({OpAccess.WRITE, OpAccess.COND_WRITE, OpAccess.READ_WRITE, OpAccess.READ_COND_WRITE})
NUMBERS = frozenset(kind for name, kind in numbers(OpKind).items() if name.startswith("IMMEDIATE"))
SIGNS = frozenset({ConditionCode.S, ConditionCode.NS})
TESTS = frozenset({Mnemonic.TEST, Mnemonic.AND, Mnemonic.CMP, Mnemonic.BT, Mnemonic.SHR})
BY_NUMBER = frozenset({Mnemonic.BT, Mnemonic.SHR})  # their immediate is the number of a bit, not a mask
OTHER = -1  # stands for a test of other bits than those of features
# The names of registers in iced-x86's OpCodeOperandKind, and their widths in bits; a tile has 16 rows of 512 bits.
REGISTERS = {"XMM": 128, "YMM": 256, "ZMM": 512, "TMM": 8192, "SIBMEM": 8192}
WIDTHS = {
    number: width
    for name, number in numbers(iced_x86.OpCodeOperandKind).items()
    for register, width in REGISTERS.items()
    if name.startswith((register, f"MEM_VSIB32{register[0]}", f"MEM_VSIB64{register[0]}"))
}


class X86Decoder(Decoder):
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

    def __init__(self, abi: Abi) -> None:
        registers = numbers(Register)
        self.abi = abi
        self.argument_registers: Sequence[int] = [registers[name] for name in abi.arguments]
        self.preserved_registers: Container[int] = {registers[name] for name in abi.preserved}
        self._factory = iced_x86.InstructionInfoFactory()
        self._full = iced_x86.RegisterExt.full_register

    def decode(self, raw: bytes, address: int) -> Iterator[iced_x86.Instruction]:
        return iter(iced_x86.Decoder(64, raw, ip=address))

    def codes(self, raw: bytes, address: int) -> Codes:
        return frozenset(map(CODE, self.decode(raw, address)))

    def references(self, raw: bytes, address: int, fixed: bool = False, linked: bool = True) -> Iterator[Reference]:
        for instruction in self.decode(raw, address):
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
        """Yield a reference for each number that may be an address. The instruction is in a file at fixed addresses."""
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

    @staticmethod
    @cache
    def forms() -> Sequence[Form]:
        """Return the instructions of each code, iced-x86's number for one encoding (``VEX_VADDPS_YMM_YMM_YMMM256``)."""
        mnemonics = {number: name for name, number in numbers(Mnemonic).items()}
        features = {number: name for name, number in numbers(iced_x86.CpuidFeature).items()}
        instruction, result = iced_x86.Instruction(), []
        for code in sorted(numbers(Code).values()):
            instruction.code = code  # type: ignore[assignment]
            needs = tuple(features[one] for one in instruction.cpuid_features()) if code != Code.INVALID else ()
            result.append(Form(mnemonics[instruction.mnemonic], needs))
        return result

    def width(self, code: int) -> int:
        encoding = iced_x86.OpCodeInfo(code)  # type: ignore[arg-type]
        return max((WIDTHS.get(encoding.op_kind(number), 0) for number in range(encoding.op_count)), default=0)

    # ---- values in registers, through instructions in the order of their addresses

    def moves(self, raw: bytes, address: int) -> Iterator[Move]:
        for instruction in self.decode(raw, address):
            is_copy = instruction.mnemonic == Mnemonic.MOV and instruction.op1_kind == OpKind.REGISTER
            used = self._factory.info(instruction).used_registers()
            written = [self._full(one.register) for one in used if one.access in WRITES]
            calls = instruction.flow_control in CALLS
            yield Move(instruction.ip, calls, instruction.op1_register if is_copy else None, written)

    def tested_bits(
        self, raw: bytes, address: int, words: Mapping[int, int], slots: Mapping[int, int]
    ) -> frozenset[int]:
        tested: set[int] = set()
        bases: dict[int, int] = {}  # by register: the address of a variable, if the register contains one
        loaded = None  # the address of the last access to such a variable
        for instruction in self.decode(raw, address):
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
    def _place(instruction: iced_x86.Instruction, bases: Mapping[int, int]) -> int | None:
        if instruction.is_ip_rel_memory_operand:
            return instruction.ip_rel_memory_address
        base = bases.get(instruction.memory_base) if instruction.memory_base else 0
        return base + instruction.memory_displacement if base is not None and not instruction.memory_index else None
