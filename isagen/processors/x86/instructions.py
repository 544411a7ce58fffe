"""Which CPU features an instruction needs: iced-x86's decoder, and our names for what it knows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property

from ...model.errors import AuditError
from ..features import Features

try:
    import iced_x86 as iced_x86
except ImportError:  # architectures without a wheel of it can still build
    iced_x86 = None  # type: ignore[assignment]

INVALID = 0  # iced-x86's Code.INVALID
Codes = frozenset[int]


def require_decoder() -> None:
    """Raise `AuditError` where iced-x86 is not installed."""
    if iced_x86 is None:
        raise AuditError("iced-x86 is not installed", where="audit", remedy="pip install iced-x86")


def normal(name: str) -> str:
    """Return a feature's name as it is compared: ``AVX512F`` and ``avx512_f`` are one."""
    return name.lower().replace("_", "")


@dataclass
class InstructionSets:
    """What every instruction needs, in the names of a features file.

    A code is a number of iced-x86 for one encoding of one instruction (``VEX_VADDPS_YMM_YMM_YMMM256``).
    """

    features: Features
    _beyond: dict[frozenset[str], Codes] = field(default_factory=dict)

    def __post_init__(self) -> None:
        require_decoder()

    @cached_property
    def _needs(self) -> dict[int, frozenset[str]]:
        """Features by code, without those of codes that every CPU has, or that do no harm on one without them."""
        rules = self.features.instructions
        ours = {normal(name): name for name in self.features.features}
        names = {}
        for shown, number in vars(iced_x86.CpuidFeature).items():
            if isinstance(number, int) and shown not in rules.always:
                names[number] = rules.names.get(shown) or ours.get(normal(shown), shown.lower())
        harmless = {getattr(iced_x86.Mnemonic, mnemonic) for mnemonic in rules.harmless}
        needs = {}
        instruction = iced_x86.Instruction()
        for code in vars(iced_x86.Code).values():
            if isinstance(code, int) and code != INVALID:
                instruction.code = code  # type: ignore[assignment]
                found = frozenset(names[f] for f in instruction.cpuid_features() if f in names)
                if found and instruction.mnemonic not in harmless:
                    needs[code] = found
        return needs

    def beyond(self, allowed: Iterable[str]) -> Codes:
        """Return the codes that a CPU with the `allowed` features alone may not have."""
        key = frozenset(map(normal, allowed))
        if key not in self._beyond:
            self._beyond[key] = frozenset(
                code for code, needed in self._needs.items() if any(normal(name) not in key for name in needed)
            )
        return self._beyond[key]

    def missing(self, codes: Iterable[int], allowed: Iterable[str]) -> tuple[str, ...]:
        """Return the features that `codes` need besides the `allowed` ones, in the order of the features file."""
        known = frozenset(map(normal, allowed))
        needed = {name for code in codes for name in self._needs.get(code, ())}
        found = {name for name in needed if normal(name) not in known}
        order = self._order
        return tuple(sorted(found, key=lambda name: (order.get(name, len(order)), name)))

    @cached_property
    def _order(self) -> dict[str, int]:
        return {name: place for place, name in enumerate(self.features.features)}
