"""The CPU features that an instruction of x86 needs, and how their names follow from iced-x86's."""

from __future__ import annotations

from collections.abc import Mapping

from ...model.errors import AuditError
from ..features import Features, normal

try:
    import iced_x86 as iced_x86
except ImportError:  # architectures without a wheel of it can still build
    iced_x86 = None  # type: ignore[assignment]

INVALID = 0  # iced-x86's Code.INVALID


def require_decoder() -> None:
    """Raise `AuditError` where iced-x86 is not installed."""
    if iced_x86 is None:
        raise AuditError("iced-x86 is not installed", where="audit", remedy="pip install iced-x86")


def needs(features: Features) -> Mapping[int, frozenset[str]]:
    """Return the features that codes need, without codes that every CPU has, or that do no harm on one without them.

    A code is a number of iced-x86 for one encoding of one instruction (``VEX_VADDPS_YMM_YMM_YMMM256``).
    """
    rules = features.instructions
    ours = {normal(name): name for name in features.features}
    names = {}
    for shown, number in vars(iced_x86.CpuidFeature).items():
        if isinstance(number, int) and shown not in rules.always:
            names[number] = rules.names.get(shown) or ours.get(normal(shown), shown.lower())
    harmless = {getattr(iced_x86.Mnemonic, mnemonic) for mnemonic in rules.harmless}
    found = {}
    instruction = iced_x86.Instruction()
    for code in vars(iced_x86.Code).values():
        if isinstance(code, int) and code != INVALID:
            instruction.code = code  # type: ignore[assignment]
            needed = frozenset(names[f] for f in instruction.cpuid_features() if f in names)
            if needed and instruction.mnemonic not in harmless:
                found[code] = needed
    return found
