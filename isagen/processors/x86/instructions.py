"""Returns facts about the instructions of x86 from iced-x86's data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from types import ModuleType

from iced_x86 import Code, CpuidFeature, Instruction, Mnemonic, OpCodeInfo, OpCodeOperandKind

from ..decoding import Form

# The names of registers in iced-x86's OpCodeOperandKind, and their widths in bits; a tile has 16 rows of 512 bits.
WIDTHS = {"XMM": 128, "YMM": 256, "ZMM": 512, "TMM": 8192, "SIBMEM": 8192}


def numbers(enumeration: ModuleType) -> Mapping[str, int]:
    """Return the members of one of iced-x86's enumerations: numbers by name."""
    return {name: value for name, value in vars(enumeration).items() if isinstance(value, int)}


@cache
def forms() -> Sequence[Form]:
    """Return the instructions of each code, iced-x86's number for one encoding (``VEX_VADDPS_YMM_YMM_YMMM256``)."""
    mnemonics = {number: name for name, number in numbers(Mnemonic).items()}
    features = {number: name for name, number in numbers(CpuidFeature).items()}
    instruction, result = Instruction(), []
    for code in sorted(numbers(Code).values()):
        instruction.code = code  # type: ignore[assignment]
        needs = tuple(features[one] for one in instruction.cpuid_features()) if code != Code.INVALID else ()
        result.append(Form(mnemonics[instruction.mnemonic], needs))
    return result


def width(code: int) -> int:
    """Return the width in bits of the widest vector or tile register of a code's instructions; 0 if they have none."""
    encoding = OpCodeInfo(code)  # type: ignore[arg-type]
    return max((_widths().get(encoding.op_kind(number), 0) for number in range(encoding.op_count)), default=0)


@cache
def _widths() -> Mapping[int, int]:
    return {
        number: width
        for name, number in numbers(OpCodeOperandKind).items()
        for register, width in WIDTHS.items()
        if name.startswith((register, f"MEM_VSIB32{register[0]}", f"MEM_VSIB64{register[0]}"))
    }
