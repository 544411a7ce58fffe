"""Reads CPU features from TOML: how to detect them, the OS state that they need, and their macros."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import cache
from typing import Any

from ..model.errors import TableError, did_you_mean
from ..model.toml import Section, read_toml
from .instructions import Instructions, normal_name, read_instructions
from .known_broken import KnownBroken, read_known_broken
from .processor import Processor
from .registry import audited_processor, find_processor, processor_names
from .sources import Condition, read_conditions


@dataclass(frozen=True)
class State:
    """Registers that the OS must save before a feature can be used.

    `check` describes how to detect whether the OS saves them; each processor defines its form. If the process must
    request the state from the OS first, `permission` is the number for the request.
    """

    name: str
    check: Any
    permission: int | None = None


@dataclass(frozen=True)
class Feature:
    """One CPU capability. A CPU has it if any of the conditions holds and the CPU also has the features `needs`.

    `macros` are those that compilers predefine for the feature, as NAME or NAME=VALUE.
    """

    name: str
    conditions: tuple[Condition, ...]
    state: str | None = None
    macros: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()

    def is_on(self, macros: Mapping[str, str]) -> bool:
        """Return whether code may use the feature if a compiler predefines `macros`, values by name."""
        wanted = (macro.partition("=") for macro in self.macros)
        return any(name in macros and (not compared or macros[name] == value) for name, compared, value in wanted)


@dataclass(frozen=True)
class OldestCpu:
    """The attributes that compile a function for every CPU of an architecture, whatever the command line turns on.

    Compilers predefine `macro` for the architecture. `gcc` and `clang` map conditions of an #if to values of the
    attribute `target`; the first item whose condition holds counts.
    """

    macro: str
    gcc: Mapping[str, str]
    clang: Mapping[str, str]


@dataclass(frozen=True)
class IpexReport:
    """The lines of `isagen cpu --format ipex`. `os` maps IPEX's names of OS states to isagen's.

    `features` are IPEX's names of features; where isagen has another
    name for one, `names` maps IPEX's name to it.
    """

    os: Mapping[str, str] = field(default_factory=dict)
    features: tuple[str, ...] = ()
    names: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Features:
    """The features of a processor; in `features`, each comes after the features that it needs.

    The regular expression `cpu_macros` matches macros that name CPUs, without the `__` at their end. `never_required`
    maps features to reasons: a level requires such a feature only if it lists the feature, whatever its flags turn on.
    `implied` maps a feature to other features, not among its `needs`, that every CPU with this feature has. `every_cpu`
    maps Meson's name of a system to the features of all CPUs that run the system. With `oldest_cpu`, the C that isagen
    generates is compiled for every CPU of the architecture; without it, as the project's flags say.
    """

    processor: Processor
    states: Mapping[str, State]
    features: Mapping[str, Feature]
    report: IpexReport
    instructions: Instructions
    ignored_macros: tuple[str, ...] = ()
    cpu_macros: str = ""
    never_required: Mapping[str, str] = field(default_factory=dict)
    implied: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    every_cpu: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    known_broken: tuple[KnownBroken, ...] = ()
    oldest_cpu: OldestCpu | None = None

    @property
    def name(self) -> str:
        """The name of the processor."""
        return self.processor.name

    def of_macro(self, macro: str) -> Feature | None:
        """Return the feature that `macro` stands for, if any."""
        return next((f for f in self.features.values() if macro in (m.partition("=")[0] for m in f.macros)), None)

    def ignores(self, macro: str) -> bool:
        """Return whether one of the patterns `ignored_macros` matches `macro`."""
        return any(fnmatchcase(macro, pattern) for pattern in self.ignored_macros)

    def unknown(self, macros: Collection[str], baseline: Collection[str]) -> list[str]:
        """Return the `macros` that are not in `baseline`, belong to no feature, name no CPU and are not ignored."""
        new = (macro for macro in macros if macro not in baseline and not self._names_cpu(macro, macros))
        return sorted(macro for macro in new if self.of_macro(macro) is None and not self.ignores(macro))

    def _names_cpu(self, macro: str, macros: Collection[str]) -> bool:
        """Return whether `macro` is a CPU's name: compilers define it twice, as ``__haswell`` and ``__haswell__``."""
        stem = macro.removesuffix("__")
        twice = stem in macros and f"{stem}__" in macros
        return twice and bool(self.cpu_macros) and re.fullmatch(self.cpu_macros, stem) is not None

    def turned_on(self, macros: Mapping[str, str]) -> tuple[str, ...]:
        """Return the features, except those in `never_required`, that `macros` turn on, and all that these need."""
        checked = (f for f in self.features.values() if f.name not in self.never_required)
        return self.with_needs(f.name for f in checked if f.is_on(macros))

    def with_needs(self, names: Iterable[str]) -> tuple[str, ...]:
        """Return the features `names` and all that these need, in the features file's order."""
        found = set(names)
        for feature in reversed(list(self.features.values())):  # each comes after those that it needs
            if feature.name in found:
                found.update(feature.needs)
        return tuple(name for name in self.features if name in found)

    def unreported(self, macros: Collection[str]) -> frozenset[str]:
        """Return the features that a system does not report; a compiler for this system predefines `macros`."""
        absent = {kind.name for kind in self.processor.all_kinds if kind.macro not in ("", *macros)}
        return frozenset(
            name
            for name, feature in self.features.items()
            if all(condition.source.kind in absent for condition in feature.conditions)
        )

    def having(self, names: Iterable[str]) -> frozenset[str]:
        """Return the features of a CPU that has all features `names`: these, and what they need and imply."""
        found, waiting = set(), list(names)
        while waiting:
            name = waiting.pop()
            if name not in found:
                found.add(name)
                waiting += self.implied.get(name, ())
                waiting += self.features[name].needs if name in self.features else ()
        return frozenset(found)

    def not_implied(self, needed: Iterable[str], given: Iterable[str]) -> tuple[str, ...]:
        """Return the features of `needed` that a CPU with the features `given` may lack."""
        present = {normal_name(name) for name in (*self.having(given), *self.instructions.always)}
        return tuple(name for name in needed if normal_name(name) not in present)


def load_features(top: Section) -> Features:
    """Read the features file that the table `top` names; add the table's features, ignored macros and known bugs."""
    reference = top.string("features")
    top.check("features", "features file", [reference], processor_names())
    listed = read_features(reference)
    features = _features(top, "extra_features", listed.processor, listed.states, listed.features)
    return replace(
        listed,
        features=features,
        known_broken=listed.known_broken + read_known_broken(top.tables("known_broken"), features),
        ignored_macros=listed.ignored_macros + top.strings("ignored_macros", ()),
    )


def features_of(name: str) -> Features:
    """Return the features of the processor `name`; if it is unknown, those of the processor that audits assume."""
    return read_features((find_processor(name) or audited_processor()).name)


@cache
def read_features(name: str) -> Features:
    """Read the features file of the processor `name`. Raises `TableError` if there is none of that name."""
    processor = find_processor(name)
    if processor is None:
        raise TableError(f"there is no features file {name!r}", remedy=did_you_mean(name, processor_names()))
    section = read_toml(processor.home / "features.toml", TableError, f"features {name}")
    states = {
        state: entry.record(State, name=state, check=processor.read_state(entry))
        for state, entry in section.sections("states")
    }
    features = _features(section, "features", processor, states, {})
    return section.record(
        Features,
        processor=processor,
        states=states,
        features=features,
        report=section.section("report").record(IpexReport),
        known_broken=read_known_broken(section.tables("known_broken"), features),
        oldest_cpu=section.section("oldest_cpu").record(OldestCpu) if "oldest_cpu" in section else None,
        instructions=read_instructions(section.section("instructions"), features),
    )


def _features(
    section: Section, key: str, processor: Processor, states: Mapping[str, State], above: Mapping[str, Feature]
) -> dict[str, Feature]:
    """Return the features `above` and then those of the section; a feature that the section replaces stays in place."""
    features = dict(above)
    for name, entry in section.sections(key):
        conditions = read_conditions(entry, processor.all_kinds)
        feature = entry.record(Feature, name=name, conditions=conditions)
        entry.check("state", "state", filter(None, [feature.state]), states)
        names = list(features)
        earlier = names[: names.index(name)] if name in features else names
        for needed in feature.needs:
            if needed not in earlier:
                raise entry.fail("needs", f"there is no feature {needed!r} before it", did_you_mean(needed, earlier))
        features[name] = feature
    return features
