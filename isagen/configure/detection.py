"""The data of the generated detection: levels as sets of features, and the words that features are read from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..model.plan import BUILT, LevelRow, Plan
from ..processors.features import Feature, Features
from ..processors.sources import REGISTERS, Cpuid, Hwcap, Source, Sysctl

MASK_BITS = 64


@dataclass(frozen=True)
class Words:
    """The words that features are read from, by place: four for each CPUID leaf, then HWCAPs, then sysctls."""

    leaves: tuple[tuple[int, int], ...]
    hwcaps: tuple[Hwcap, ...]
    sysctls: tuple[Sysctl, ...]

    @classmethod
    def of(cls, features: Iterable[Feature]) -> Words:
        """Return the words that `features` need."""
        sources = {feature.condition.source for feature in features}
        return cls(
            leaves=tuple(sorted({(s.leaf, s.subleaf) for s in sources if isinstance(s, Cpuid)})),
            hwcaps=tuple(sorted((s for s in sources if isinstance(s, Hwcap)), key=lambda source: source.word)),
            sysctls=tuple(sorted((s for s in sources if isinstance(s, Sysctl)), key=lambda source: source.name)),
        )

    def place(self, source: Source) -> int:
        """Return the place of a source's word."""
        match source:
            case Cpuid(leaf, subleaf, register):
                return len(REGISTERS) * self.leaves.index((leaf, subleaf)) + REGISTERS.index(register)
            case Hwcap():
                return len(REGISTERS) * len(self.leaves) + self.hwcaps.index(source)
            case Sysctl():
                return len(REGISTERS) * len(self.leaves) + len(self.hwcaps) + self.sysctls.index(source)

    @property
    def count(self) -> int:
        """How many words there are."""
        return len(REGISTERS) * len(self.leaves) + len(self.hwcaps) + len(self.sysctls)


def detection_values(plan: Plan, features: Features, baseline: Sequence[str]) -> Mapping[str, Any]:
    """Return what the templates lay out: levels, features, words and states, as C writes their numbers.

    `baseline` are the features that all code of the build may use.
    """
    used = _used(features, {*baseline, *(name for level in plan.levels for name in level.features)})
    words = Words.of(used)
    numbers = {feature.name: number for number, feature in enumerate(used)}
    size = max(-(-len(used) // MASK_BITS), 1)
    states = list(features.states.values())
    places = {state.name: place for place, state in enumerate(states, 1)}
    return {
        "levels": [_level(level, plan.levels, features, numbers, size) for level in plan.levels],
        "baseline": mask((numbers[name] for name in baseline), size),
        "features": [_feature(feature, words, places) for feature in used],
        "needs": [(numbers[f.name], numbers[needed]) for f in used for needed in f.needs],
        "mask_size": size,
        "word_count": max(words.count, 1),
        "leaves": words.leaves,
        "hwcaps": [(source, words.place(source)) for source in words.hwcaps],
        "sysctls": [(source, words.place(source)) for source in words.sysctls],
        "states": [
            {
                "xcr0": state.xcr0,
                "permission": -1 if state.permission is None else state.permission,
                "macos_sysctl": state.macos_sysctl,
            }
            for state in states
        ],
    }


def _used(features: Features, names: set[str]) -> list[Feature]:
    """Return the features called `names` and all that they need, in the features file's order."""
    for feature in reversed(list(features.features.values())):  # those that a feature needs stand above it
        if feature.name in names:
            names.update(feature.needs)
    return [feature for name, feature in features.features.items() if name in names]


def _level(
    level: LevelRow, levels: Sequence[LevelRow], features: Features, numbers: Mapping[str, int], size: int
) -> dict[str, Any]:
    allowed = {level.name, *level.below}
    return {
        "name": level.name,
        "built": level.verdict == BUILT,
        "self_and_below": _number(sum(1 << place for place, one in enumerate(levels) if one.name in allowed)),
        "permission": _permission(features, level.features),
        "needs": mask((numbers[name] for name in level.features), size),
    }


def mask(members: Iterable[int], size: int) -> list[str]:
    """Return a set of numbers as `size` numbers of 64 bits: member i is bit i % 64 of number i / 64."""
    whole = sum(1 << member for member in set(members))
    return [_number(whole >> MASK_BITS * place & (1 << MASK_BITS) - 1) for place in range(size)]


def _number(value: int) -> str:
    return f"0x{value:x}u"


def _permission(features: Features, names: Iterable[str]) -> int:
    """Return the XSAVE component that the OS must grant for features `names`, or -1."""
    for name in names:
        state = features.features[name].state
        if state is not None and (component := features.states[state].permission) is not None:
            return component
    return -1


def _feature(feature: Feature, words: Words, states: Mapping[str, int]) -> dict[str, Any]:
    condition = feature.condition
    return {
        "name": feature.name,
        "word": words.place(condition.source),
        "low": condition.low,
        "state": states[feature.state] if feature.state else 0,
        "field": _number(condition.mask),
        "minimum": condition.minimum,
    }
