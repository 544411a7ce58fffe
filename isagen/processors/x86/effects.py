"""What x86-64 instructions do to registers (`isagen.processors.decoding.Effect`)."""

from __future__ import annotations

from ..decoding import Effect, How, Place
from .iced import iced_x86

TYPE_CHECKING = False  # as in typing
if TYPE_CHECKING:
    from collections.abc import Mapping

# iced-x86's OpAccess: read, conditional read, and both with a write; write, conditional write, and both with a read.
READS, WRITES = frozenset({1, 2, 5, 6}), frozenset({3, 4, 5, 6})
# iced-x86's OpKind.
REGISTER, MEMORY = 0, 24
NUMBERS = frozenset({9, 10, 13, 14})  # immediates of 32 and 64 bits, and of 8 extended to 64
# iced-x86's Register, by the System V ABI for x86-64: the arguments of a call, its result, and what it keeps.
RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI, R8, R9 = range(53, 63)
R12, R13, R14, R15 = range(65, 69)
ARGUMENTS = (RDI, RSI, RDX, RCX, R8, R9)
RESULT, STACK = RAX, RSP
KEPT = frozenset({RBX, RSP, RBP, R12, R13, R14, R15})
GENERAL = frozenset(range(RAX, R15 + 1))
RIP = 70


class X86Effects:
    """What instructions do to the general registers."""

    def __init__(self, numbers: Mapping[str, tuple[int, ...]]) -> None:
        self._factory = iced_x86.InstructionInfoFactory()
        self._full = iced_x86.RegisterExt.full_register
        self._size_of = iced_x86.MemorySizeExt.size
        self._compares, self._chooses, self._extends = (
            frozenset(numbers[name]) for name in ("compares", "chooses", "extends")
        )
        (self._mov,), (self._add,), (self._lea,) = (numbers[name] for name in ("mov", "add", "lea"))

    def of(self, instruction: iced_x86.Instruction) -> Effect:
        """Return what an instruction does."""
        info = self._factory.info(instruction)
        place = self._place(instruction, info)
        reads, writes = set(), set()
        for used in info.used_registers():
            register = self._full(used.register)
            if register in GENERAL:
                if used.access in READS:
                    reads.add(register)
                if used.access in WRITES:
                    writes.add(register)
        if place is not None:
            reads -= {place.base, place.index} - self._operands(instruction, info)
        how, to, source = self._value(instruction, place)
        number = self._number(instruction)
        compares = instruction.mnemonic in self._compares
        return Effect(how, to, source, number, tuple(reads), tuple(writes), place, compares)

    def _operands(self, instruction: iced_x86.Instruction, info: iced_x86.InstructionInfo) -> set[int]:
        """Return the registers that are read as operands of their own."""
        return {
            self._full(instruction.op_register(place))
            for place in range(instruction.op_count)
            if instruction.op_kind(place) == REGISTER and info.op_access(place) in READS
        }

    def _place(self, instruction: iced_x86.Instruction, info: iced_x86.InstructionInfo) -> Place | None:
        """Return the operand in memory, if there is one that names its place."""
        for number in range(instruction.op_count):
            if instruction.op_kind(number) == MEMORY:
                break
        else:
            return None
        access = info.op_access(number)
        relative = instruction.is_ip_rel_memory_operand
        offset = instruction.ip_rel_memory_address if relative else instruction.memory_displacement
        if not relative and offset >= 1 << 63:
            offset -= 1 << 64
        base = 0 if relative else self._full(instruction.memory_base)
        index = self._full(instruction.memory_index) if instruction.memory_index else 0
        size = self._size_of(instruction.memory_size)
        if instruction.segment_prefix:  # of the thread: not at that address
            base = RIP
        return Place(base, index, offset, size, relative, access in READS, access in WRITES)

    def _value(self, instruction: iced_x86.Instruction, place: Place | None) -> tuple[How, int, int]:
        """Return how the instruction computes a value, the register for it, and the register it is from."""
        mnemonic = instruction.mnemonic
        if mnemonic in self._extends and not instruction.op_count:
            return How.EXTEND, RAX, RAX
        if instruction.op_count != 2 or instruction.op0_kind != REGISTER:
            return How.OTHER, 0, 0
        to = self._full(instruction.op0_register)
        if to not in GENERAL:
            return How.OTHER, 0, 0
        narrow = instruction.op0_register != to
        kind = instruction.op1_kind
        source = self._full(instruction.op1_register) if kind == REGISTER else 0
        how = How.OTHER
        if mnemonic == self._lea and not narrow:
            how = How.ADDRESS
        elif mnemonic == self._mov and kind in NUMBERS:
            how = How.NUMBER
        elif mnemonic == self._mov and source and not narrow:
            how = How.COPY
        elif mnemonic in self._chooses and source and not narrow:
            how = How.CHOOSE
        elif mnemonic in self._extends and source:
            how = How.EXTEND
        elif place is not None and (mnemonic == self._mov or mnemonic in self._extends):
            how = How.LOAD
        elif mnemonic == self._add and (source or kind in NUMBERS) and not narrow:
            how = How.ADD
        return how, to, source

    def _number(self, instruction: iced_x86.Instruction) -> int | None:
        """Return the number in the instruction, if it has one that an address fits into."""
        for place in range(instruction.op_count):
            if instruction.op_kind(place) in NUMBERS:
                return instruction.immediate(place) % (1 << 64)
        return None
