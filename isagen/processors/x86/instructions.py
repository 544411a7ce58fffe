"""The CPU features that an instruction of x86 needs, and how their names follow from iced-x86's."""

from __future__ import annotations

from collections.abc import Mapping

from ...model.errors import AuditError
from ..features import Features
from ..instruction_sets import normal
from .iced import iced_x86, numbers

INVALID = 0  # iced-x86's Code.INVALID


def require_decoder() -> None:
    """Raise `AuditError` where iced-x86 is not installed."""
    if iced_x86 is None:
        raise AuditError("iced-x86 is not installed", where="audit", remedy="pip install iced-x86")


def own_numbers() -> Mapping[str, tuple[int, ...]]:
    """Return the numbers of iced-x86 that the decoder itself uses: of mnemonics, and a code."""
    names = numbers("Mnemonic")
    return {
        "asking": (numbers("Code")["CPUID"],),
        "mov": (names["MOV"],),
        "lea": (names["LEA"],),
        "chooses": tuple(number for name, number in names.items() if name.startswith("CMOV")),
        "compares": (names["CMP"], names["TEST"]),
        "small_moves": (names["MOV"], names["MOVZX"], names["MOVSX"]),
        "tests": tuple(names[name] for name in ("TEST", "AND", "CMP", "BT", "SHR")),
        "by_number": (names["BT"], names["SHR"]),
    }


def needs(features: Features) -> Mapping[int, frozenset[str]]:
    """Return the features that codes need, without codes that every CPU has, or that do no harm on one without them.

    A code is a number of iced-x86 for one encoding of one instruction (``VEX_VADDPS_YMM_YMM_YMMM256``).
    """
    rules = features.instructions
    ours = {normal(name): name for name in features.features}
    names = {}
    for shown, number in numbers("CpuidFeature").items():
        if shown not in rules.always:
            names[number] = rules.names.get(shown) or ours.get(normal(shown), shown.lower())
    mnemonics = numbers("Mnemonic")
    harmless = {mnemonics[mnemonic] for mnemonic in rules.harmless}
    found = {}
    instruction = iced_x86.Instruction()
    for code in numbers("Code").values():
        if code != INVALID:
            instruction.code = code  # type: ignore[assignment]
            needed = frozenset(names[f] for f in instruction.cpuid_features() if f in names)
            if needed and instruction.mnemonic not in harmless:
                found[code] = needed
    return found


def codes_of(mnemonic: str) -> frozenset[int]:
    """Return the codes of a mnemonic: numbers of iced-x86."""
    start = f"{mnemonic}_"
    return frozenset(code for name, code in numbers("Code").items() if f"{name}_".startswith(start))
