"""Returns the CPU features that instructions of x86 need, from iced-x86's data."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cache
from types import ModuleType

from iced_x86 import Code, CpuidFeature, Instruction, Mnemonic, OpCodeInfo, OpCodeOperandKind

from ..instructions import Instructions, normal_name

# The names of registers in iced-x86's OpCodeOperandKind, and their widths in bits; a tile has 16 rows of 512 bits.
WIDTHS = {"XMM": 128, "YMM": 256, "ZMM": 512, "TMM": 8192, "SIBMEM": 8192}


def numbers(enumeration: ModuleType) -> Mapping[str, int]:
    """Return the members of one of iced-x86's enumerations: numbers by name."""
    return {name: value for name, value in vars(enumeration).items() if isinstance(value, int)}


def needs(rules: Instructions) -> Mapping[int, frozenset[str]]:
    """Return the features that each code needs, without codes that are harmless on every CPU.

    A code is iced-x86's number for one encoding of one instruction (``VEX_VADDPS_YMM_YMM_YMMM256``).
    """
    ours = {normal_name(name): name for name in rules.features}
    names = {}
    for shown, number in numbers(CpuidFeature).items():
        if shown not in rules.always:
            names[number] = rules.names.get(shown) or ours.get(normal_name(shown), shown.lower())
    mnemonics = numbers(Mnemonic)
    harmless = {mnemonics[mnemonic] for mnemonic in rules.harmless}
    result, sets = {}, dict[frozenset[str], frozenset[str]]()  # codes share equal sets
    instruction = Instruction()
    for code in numbers(Code).values():
        if code != Code.INVALID:
            instruction.code = code  # type: ignore[assignment]
            needed = frozenset(names[f] for f in instruction.cpuid_features() if f in names)
            if needed and instruction.mnemonic not in harmless:
                result[code] = sets.setdefault(needed, needed)
    return result


def codes_of(mnemonic: str) -> frozenset[int]:
    """Return the codes of a mnemonic."""
    return frozenset(_codes().get(mnemonic, ()))


@cache
def _codes() -> Mapping[str, Collection[int]]:
    """Return the codes of each mnemonic, which is the first part of a code's name."""
    codes: dict[str, list[int]] = {}
    for name, code in numbers(Code).items():
        codes.setdefault(name.partition("_")[0], []).append(code)
    return codes


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
