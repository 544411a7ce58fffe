"""The addresses that registers hold as x86-64 code runs (`isagen.processors.decoding.Addresses`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..decoding import Instruction
from .effects import ARGUMENTS, WRITES
from .iced import iced_x86


class X86Addresses:
    """The addresses that registers are known to hold as a function's instructions run one after the other."""

    def __init__(self, numbers: Mapping[str, tuple[int, ...]]) -> None:
        (self._mov,) = numbers["mov"]
        self._known: dict[int, int] = {}
        self._factory = iced_x86.InstructionInfoFactory()
        self._full = iced_x86.RegisterExt.full_register
        self._info: iced_x86.InstructionInfo

    def stores(self, instruction: Instruction) -> Sequence[tuple[bool, int]]:
        """Return where an instruction writes: (whether at a distance from itself, address, 0 if unknown)."""
        assert isinstance(instruction, iced_x86.Instruction)
        self._info = self._factory.info(instruction)
        relative = instruction.is_ip_rel_memory_operand
        return [
            (relative, memory.displacement if relative else self._known.get(memory.base, 0))
            for memory in self._info.used_memory()
            if memory.access in WRITES
        ]

    def run(self, instruction: Instruction, loaded: int) -> None:
        """Pass the instruction that `stores` was last asked about; `loaded` is the address that it loads, or 0."""
        assert isinstance(instruction, iced_x86.Instruction)
        source = instruction.op1_register if instruction.mnemonic == self._mov else 0
        value = loaded or (self._known.get(source, 0) if source else 0)
        for used in self._info.used_registers():
            if used.access in WRITES:
                self._known.pop(self._full(used.register), None)
        if value:
            self._known[self._full(instruction.op0_register)] = value

    def argument(self, number: int) -> int:
        """Return the address that a call now hands over as its argument of a number from 0; 0 if unknown."""
        return self._known.get(ARGUMENTS[number], 0)
