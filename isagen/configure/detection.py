"""Computes what the templates of CPU detection need: levels as sets of features, and the features' sources."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..model.matrix import LevelRow
from ..model.plan import BUILT, Plan
from ..processors.features import Feature, Features
from ..processors.sources import SYSTEM_KINDS, Source

MASK_BITS = 64


def detection_values(
    plan: Plan, features: Features, baseline: Sequence[str], unreported: Collection[str] = ()
) -> Mapping[str, Any]:
    """Return the values of the templates. Masks and maxima are texts: unsigned numbers in C.

    `baseline` are the features that all code of the build may use. `unreported` are those that the
    system does not report. Features in both are not checked.
    """
    unchecked = {*baseline}.intersection(unreported)
    baseline = [name for name in baseline if name not in unchecked]
    levels = [
        replace(level, features=tuple(name for name in level.features if name not in unchecked))
        for level in plan.levels
    ]
    used = _used(features, {*baseline, *(name for level in levels for name in level.features)})
    own_kinds = {kind.name for kind in features.processor.kinds}
    sources = _sources(features, used)
    words = {source: number for number, source in enumerate(sources)}
    numbers = {feature.name: number for number, feature in enumerate(used)}
    size = max(-(-len(used) // MASK_BITS), 1)
    places = {name: place for place, name in enumerate(features.states, 1)}
    return {
        "levels": [_level(level, plan, features, numbers, size) for level in levels],
        "baseline": mask((numbers[name] for name in baseline), size),
        "features": [{"name": feature.name, "state": places.get(feature.state or "", 0)} for feature in used],
        "conditions": [
            {
                "feature": numbers[feature.name],
                "word": words[one.source],
                "low": one.low,
                "field": _number(one.mask),
                "minimum": one.minimum,
                "maximum": _number(one.maximum),
            }
            for feature in used
            for one in feature.conditions
        ],
        "needs": [(numbers[f.name], numbers[needed]) for f in used for needed in f.needs],
        "mask_size": size,
        "word_count": max(len(sources), 1),
        "own_sources": [source.place for source in sources if source.kind in own_kinds],
        "system_kinds": [kind for kind in SYSTEM_KINDS if any(source.kind == kind.name for source in sources)],
        "system_sources": [
            {"kind": kind.name, "place": source.place[0], "word": words[source]}
            for kind in SYSTEM_KINDS
            for source in sources
            if source.kind == kind.name
        ],
        "states": [
            {"check": state.check, "permission": -1 if state.permission is None else state.permission}
            for state in features.states.values()
        ],
    }


def _sources(features: Features, used: Iterable[Feature]) -> list[Source]:
    """Return the sources of the `used` features, without duplicates; the processor's own kinds come first."""
    kinds = [kind.name for kind in (*features.processor.kinds, *SYSTEM_KINDS)]
    sources = {condition.source for feature in used for condition in feature.conditions}
    return sorted(sources, key=lambda source: (kinds.index(source.kind), source.place))


def _used(features: Features, names: set[str]) -> list[Feature]:
    """Return the features called `names` and all features that these need, in the features file's order."""
    for feature in reversed(list(features.features.values())):  # a feature comes after the features that it needs
        if feature.name in names:
            names.update(feature.needs)
    return [feature for name, feature in features.features.items() if name in names]


def _level(level: LevelRow, plan: Plan, features: Features, numbers: Mapping[str, int], size: int) -> dict[str, Any]:
    allowed = {level.name, *level.requires}
    return {
        "name": level.name,
        "built": level.verdict == BUILT,
        "sourceless": plan.is_without_source(level),
        "self_and_below": _number(sum(1 << place for place, one in enumerate(plan.levels) if one.name in allowed)),
        "permission": _permission(features, level.features),
        "needs": mask((numbers[name] for name in level.features), size),
    }


def mask(members: Iterable[int], size: int) -> list[str]:
    """Return a set of numbers as `size` words of 64 bits: member i is bit i % 64 of word i / 64."""
    whole = sum(1 << member for member in set(members))
    return [_number(whole >> MASK_BITS * place & (1 << MASK_BITS) - 1) for place in range(size)]


def _number(value: int) -> str:
    return f"0x{value:x}u"


def _permission(features: Features, names: Iterable[str]) -> int:
    for name in names:
        state = features.features[name].state
        if state is not None and (number := features.states[state].permission) is not None:
            return number
    return -1
