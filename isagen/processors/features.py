"""CPU features, from TOML: their detection, the OS state that they need, and their macros."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import cache
from typing import Any

from ..model.errors import TableError, did_you_mean
from ..model.toml import Section, read_toml
from .closure import closure
from .instructions import Instructions, normal, read_instructions
from .processor import Processor
from .registry import audited_processor, find_processor, processor_names
from .sources import SYSTEM_KINDS, Condition, read_conditions


@dataclass(frozen=True)
class State:
    """State that the OS must save for a feature to be usable. `saved` is how to detect that, in the processor's own
    form. `permission` is the number by which the process must ask the OS for the state first.
    """

    name: str
    saved: Any
    permission: int | None = None


@dataclass(frozen=True)
class Feature:
    """One CPU capability: the conditions of which any shows it, its OS state, and the macros that compilers predefine.

    The conditions count only on a CPU that also has the features `needs`. A macro NAME=VALUE counts with that value.
    """

    name: str
    conditions: tuple[Condition, ...]
    state: str | None = None
    macros: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()

    def is_on(self, macros: Mapping[str, str]) -> bool:
        """Return whether `macros`, which map names to values, say that code may use the feature."""
        return any(is_defined(macro, macros) for macro in self.macros)


@dataclass(frozen=True)
class Report:
    """The lines of `isagen cpu --format ipex`: (name, state) of each on the OS, (name, feature) of each on the CPU."""

    os: tuple[tuple[str, str], ...]
    features: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Features:
    """The features of a processor; each follows those that it needs.

    `cpu_macros` is a regular expression of macros that name CPUs. `never_required` maps features that flags may
    turn on without a check to the reason, and `implied` maps features to those of every CPU that has them.
    """

    processor: Processor
    states: Mapping[str, State]
    features: Mapping[str, Feature]
    ignored_macros: tuple[str, ...]
    report: Report
    instructions: Instructions
    cpu_macros: str = ""
    never_required: Mapping[str, str] = field(default_factory=dict)
    implied: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The name of the features file: the processor's."""
        return self.processor.name

    def of_macro(self, macro: str) -> Feature | None:
        """Return the feature that `macro` stands for, if any."""
        return next((f for f in self.features.values() if macro in (one.partition("=")[0] for one in f.macros)), None)

    def ignores(self, macro: str) -> bool:
        """Return whether `macro` is unrelated to instructions."""
        return any(fnmatchcase(macro, pattern) for pattern in self.ignored_macros)

    def unknown(self, macros: Collection[str], bare: Collection[str]) -> list[str]:
        """Return those of `macros`, without `bare` ones, that may mean instructions and belong to no feature."""
        new = (macro for macro in macros if macro not in bare and not self._names_cpu(macro, macros))
        return sorted(macro for macro in new if self.of_macro(macro) is None and not self.ignores(macro))

    def _names_cpu(self, macro: str, macros: Collection[str]) -> bool:
        """Return whether `macro` is a CPU's name: compilers define it twice, as ``__haswell`` and ``__haswell__``."""
        stem = macro.removesuffix("__")
        twice = stem in macros and f"{stem}__" in macros
        return twice and bool(self.cpu_macros) and re.fullmatch(self.cpu_macros, stem) is not None

    def turned_on(self, macros: Mapping[str, str]) -> tuple[str, ...]:
        """Return the features that `macros` turn on and that must be checked at run time, in order."""
        found = (f for f in self.features.values() if f.name not in self.never_required)
        return tuple(f.name for f in found if f.is_on(macros))

    def unnamed(self, needed: Iterable[str], named: Iterable[str]) -> tuple[str, ...]:
        """Return those of the features `needed` that no CPU with the features `named` must have."""
        every = closure(named, lambda name: self.implied.get(name, ()))
        known = {normal(name) for name in (*every, *self.instructions.always)}
        return tuple(name for name in needed if normal(name) not in known)


def is_defined(macro: str, macros: Mapping[str, str]) -> bool:
    """Return whether `macros` have a macro NAME, or NAME=VALUE with that value."""
    name, compared, value = macro.partition("=")
    return name in macros and (not compared or macros[name] == value)


def load_features(top: Section) -> Features:
    """Read the features file that a table names, plus the features that the table itself adds."""
    reference = top.string("features")
    if find_processor(reference) is None:
        known = processor_names()
        raise top.fail("features", f"there is no features file {reference!r}", did_you_mean(reference, known))
    own = read_features(reference)
    return replace(
        own,
        features=_features(top, "extra_features", own.processor, own.states, own.features),
        ignored_macros=own.ignored_macros + top.strings("ignored_macros", ()),
    )


def features_of(name: str) -> Features:
    """Return the features that a record names, or those of the processor that audits assume where it is unknown."""
    return read_features((find_processor(name) or audited_processor()).name)


def read_features(name: str) -> Features:
    """Read the features file of the processor `name`. Raises `TableError` if there is none of that name."""
    processor = find_processor(name)
    if processor is None:
        raise TableError(f"there is no features file {name!r}", remedy=did_you_mean(name, processor_names()))
    return _read(processor)


@cache
def _read(processor: Processor) -> Features:
    section = read_toml(processor.home / "features.toml", TableError, f"features {processor.name}")
    states = dict(_states(section, processor))
    features = _features(section, "features", processor, states, {})
    never = section.section("never_required")
    for name in never.names():
        never.check(name, "feature", [name], features)
    result = Features(
        processor=processor,
        states=states,
        features=features,
        ignored_macros=section.strings("ignored_macros", ()),
        report=_report(section.section("report"), features, states),
        instructions=read_instructions(section.section("instructions"), features),
        cpu_macros=_pattern(section, "cpu_macros"),
        never_required=never.texts(),
        implied=_implied(section.section("implied"), features),
    )
    section.finish()
    return result


def _pattern(section: Section, key: str) -> str:
    pattern = section.string(key, "")
    try:
        re.compile(pattern)
    except re.error as problem:
        raise section.fail(key, f"{pattern!r} is no regular expression: {problem}") from None
    return pattern


def _implied(section: Section, features: Mapping[str, Feature]) -> dict[str, tuple[str, ...]]:
    found = {name: section.strings(name) for name in section.names()}
    for name, implied in found.items():
        section.check(name, "feature", (name, *implied), features)
    return found


def _states(section: Section, processor: Processor) -> Iterable[tuple[str, State]]:
    for name, entry in section.sections("states"):
        yield name, State(name, processor.read_state(entry), entry.integer("permission", None))
        entry.finish()


def _features(
    section: Section, key: str, processor: Processor, states: Mapping[str, State], above: Mapping[str, Feature]
) -> dict[str, Feature]:
    """Return the features `above`, followed by those that the section adds or replaces."""
    features = dict(above)
    for name, entry in section.sections(key):
        conditions = read_conditions(entry, (*processor.kinds, *SYSTEM_KINDS))
        state = entry.string("state", None)
        entry.check("state", "state", [] if state is None else [state], states)
        needs = entry.strings("needs", ())
        names = list(features)
        higher = names[: names.index(name)] if name in features else names
        for needed in needs:
            if needed not in higher:
                raise entry.fail("needs", f"there is no feature {needed!r} above", did_you_mean(needed, higher))
        features[name] = Feature(name, conditions, state, entry.strings("macros", ()), needs)
        entry.finish()
    return features


def _report(section: Section, features: Mapping[str, Feature], states: Mapping[str, State]) -> Report:
    names, os = section.section("names").texts(), section.section("os").texts()
    lines = tuple((name, names.get(name, name)) for name in section.strings("features", ()))
    section.check("os", "state", os.values(), states)
    section.check("features", "feature", dict(lines).values(), features)
    section.finish()
    return Report(tuple(os.items()), lines)
