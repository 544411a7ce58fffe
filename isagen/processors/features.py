"""CPU features: their CPUID bits, the OS state that they need, and the macros that stand for them, read from TOML."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from ..model.errors import TableError, did_you_mean
from ..model.record import Record
from ..model.toml import Section, read_toml

# Each processor has a folder of its own here.
PROCESSORS = Path(__file__).parent
REGISTERS = ("eax", "ebx", "ecx", "edx")


@dataclass(frozen=True)
class State:
    """What the OS must save for a feature to be usable.

    `xcr0` is a mask of XCR0 bits, all of which must be set; `permission` is the Linux XSAVE component that must be
    requested with arch_prctl; `macos_sysctl` answers in XCR0's place where macOS enables the state lazily.
    """

    name: str
    xcr0: int
    permission: int | None = None
    macos_sysctl: str | None = None


@dataclass(frozen=True)
class Feature:
    """One CPU capability: its CPUID bit, the OS state that it needs, and the macros that compilers predefine."""

    name: str
    leaf: int
    subleaf: int
    register: str
    bit: int
    state: str | None
    macros: tuple[str, ...]


@dataclass(frozen=True)
class Report:
    """What `isagen cpu` prints: (name, state) of each line about the OS, (name, feature) of each about the CPU."""

    os: tuple[tuple[str, str], ...]
    features: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Instructions:
    """What the audit's decoder calls otherwise than we do: instruction sets and mnemonics by iced-x86's names.

    `always` are the sets of every CPU of the architecture, `names` maps others to features, and `harmless` maps
    mnemonics to the reason why they may stand where nobody checks for them. `checked` maps patterns of the symbols of
    the toolchain's own functions to the reason why they may use what they use.
    """

    always: frozenset[str] = frozenset()
    names: Mapping[str, str] = field(default_factory=dict)
    harmless: Mapping[str, str] = field(default_factory=dict)
    checked: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Features:
    """The features of an architecture, and the template that detects them."""

    name: str
    cpu_families: tuple[str, ...]
    detection: str
    states: Mapping[str, State]
    features: Mapping[str, Feature]
    ignored_macros: tuple[str, ...]
    report: Report
    instructions: Instructions = Instructions()

    def of_macro(self, macro: str) -> Feature | None:
        """Return the feature that `macro` stands for, if any."""
        return next((f for f in self.features.values() if macro in f.macros), None)

    def ignores(self, macro: str) -> bool:
        """Return whether `macro` says nothing about instructions."""
        return any(fnmatchcase(macro, pattern) for pattern in self.ignored_macros)


def load_features(top: Section) -> Features:
    """Read the features file that a table names, plus the features that the table itself adds."""
    reference = top.string("features")
    known = known_features()
    if reference not in known:
        raise top.fail("features", f"there is no features file {reference!r}", did_you_mean(reference, known))
    own = read_features(reference)
    extra = {f.name: f for f in _feature_list(top, "extra_features", own.states)}
    return replace(
        own,
        features={**own.features, **extra},
        ignored_macros=own.ignored_macros + top.strings("ignored_macros", ()),
    )


def known_features() -> tuple[str, ...]:
    """Return the names of isagen's own features files: one for each processor."""
    return tuple(sorted(path.parent.name for path in PROCESSORS.glob("*/features.toml")))


def features_of(record: Record) -> Features:
    """Return the features that a record names: those of its features file, or x86's where that is not known."""
    return read_features(record.features if record.features in known_features() else "x86")


def read_features(name: str) -> Features:
    """Read one of isagen's own features files. Raises `TableError` if there is none of that name."""
    section = read_toml(PROCESSORS / name / "features.toml", TableError, f"features {name}")
    states = dict(_states(section))
    features = {f.name: f for f in _feature_list(section, "features", states)}
    result = Features(
        name=name,
        cpu_families=section.strings("cpu_families"),
        detection=section.string("detection"),
        states=states,
        features=features,
        ignored_macros=section.strings("ignored_macros", ()),
        report=_report(section.section("report"), features, states),
        instructions=_instructions(section.section("instructions"), features),
    )
    section.finish()
    return result


def _instructions(section: Section, features: Mapping[str, Feature]) -> Instructions:
    named, harmless, checked = (section.section(name) for name in ("names", "harmless", "checked"))
    names = {name: named.string(name) for name in named.names()}
    for name, feature in names.items():
        if feature not in features:
            raise named.fail(name, f"there is no feature {feature!r}", did_you_mean(feature, features))
    result = Instructions(
        always=frozenset(section.strings("always", ())),
        names=names,
        harmless={name: harmless.string(name) for name in harmless.names()},
        checked={name: checked.string(name) for name in checked.names()},
    )
    section.finish()
    return result


def _states(section: Section) -> Iterable[tuple[str, State]]:
    for name, entry in section.sections("states"):
        yield (
            name,
            State(
                name=name,
                xcr0=entry.integer("xcr0"),
                permission=entry.integer("permission", None),
                macos_sysctl=entry.string("macos_sysctl", None),
            ),
        )
        entry.finish()


def _feature_list(section: Section, key: str, states: Mapping[str, State]) -> Iterable[Feature]:
    for name, entry in section.sections(key):
        place = entry.array("cpuid")
        if not _is_cpuid(place):
            raise entry.fail(
                "cpuid", f"must be [leaf, subleaf, register, bit], not {place!r}", 'for example [7, 0, "ebx", 5]'
            )
        state = entry.string("state", None)
        if state is not None and state not in states:
            raise entry.fail("state", f"there is no state {state!r}", did_you_mean(state, states))
        leaf, subleaf, register, bit = place
        yield Feature(name, leaf, subleaf, register, bit, state, entry.strings("macros", ()))
        entry.finish()


def _report(section: Section, features: Mapping[str, Feature], states: Mapping[str, State]) -> Report:
    named, os = section.section("names"), section.section("os")
    names = {name: named.string(name) for name in named.names()}
    report = Report(
        os=tuple((name, os.string(name)) for name in os.names()),
        features=tuple((name, names.get(name, name)) for name in section.strings("features", ())),
    )
    for _, state in report.os:
        if state not in states:
            raise section.fail("os", f"there is no state {state!r}", did_you_mean(state, states))
    for _, feature in report.features:
        if feature not in features:
            raise section.fail("features", f"there is no feature {feature!r}", did_you_mean(feature, features))
    section.finish()
    return report


def _is_cpuid(place: list[Any]) -> bool:
    return (
        len(place) == 4
        and all(type(place[i]) is int and place[i] >= 0 for i in (0, 1, 3))
        and place[2] in REGISTERS
        and place[3] < 32
    )
