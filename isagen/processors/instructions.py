"""Instructions in a features file: the features that they need, and how code detects the CPU."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from ..model.toml import Section


@dataclass(frozen=True)
class CpuChecks:
    """How code detects CPU features, as far as symbols show it.

    `functions` are functions of the toolchain that tell it, and the names of `variables` start so that hold it; names
    that start as one of `own` does are of C libraries, which use them themselves. `words`
    are such variables with the number of the first bit in each 32-bit word, negative where a word holds no features,
    and `bits` the feature of each bit, "" where it is unknown.
    """

    functions: frozenset[str] = frozenset()
    variables: tuple[str, ...] = ()
    own: tuple[str, ...] = ()
    bits: tuple[str, ...] = ()
    words: Mapping[str, tuple[int, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class Instructions:
    """Facts for the audit about instruction sets and mnemonics, which have the decoder's names (iced-x86's).

    `features` are the names of all features, in order. `always` are the sets of every CPU of the architecture, `names`
    maps others to features, and `harmless` maps mnemonics to the reason why they may run unchecked. `after` maps
    mnemonics to one that makes them harmless, and `alike` those that older CPUs run as another one to the macros under
    which compilers mean the new one. `checked` maps patterns of symbols of the toolchain's own functions to the reason
    why their instructions need no check.
    """

    features: tuple[str, ...] = ()
    always: frozenset[str] = frozenset()
    names: Mapping[str, str] = field(default_factory=dict)
    harmless: Mapping[str, str] = field(default_factory=dict)
    after: Mapping[str, str] = field(default_factory=dict)
    alike: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    cpu_checks: CpuChecks = field(default_factory=CpuChecks)
    checked: Mapping[str, str] = field(default_factory=dict)


def normal(name: str) -> str:
    """Return a CPU feature's name in normal form: ``AVX512F`` and ``avx512_f`` are equal."""
    return name.lower().replace("_", "")


def read_instructions(section: Section, features: Collection[str]) -> Instructions:
    """Read what a features file with `features` says about instructions."""
    names = section.section("names")
    after, alike = dict(section.sections("after")), dict(section.sections("alike"))
    for name, feature in names.texts().items():
        names.check(name, "feature", [feature], features)
    result = Instructions(
        features=tuple(features),
        always=frozenset(section.strings("always", ())),
        names=names.texts(),
        harmless=section.section("harmless").texts(),
        after={name: entry.string("after") for name, entry in after.items()},
        alike={name: entry.strings("macros") for name, entry in alike.items()},
        cpu_checks=_cpu_checks(section.section("asked")),
        checked=section.section("checked").texts(),
    )
    for entry in (*after.values(), *alike.values()):
        entry.string("reason")
        entry.finish()
    section.finish()
    return result


def _cpu_checks(section: Section) -> CpuChecks:
    words = section.section("words")
    return CpuChecks(
        functions=frozenset(section.strings("functions", ())),
        variables=section.strings("variables", ()),
        own=section.strings("own", ()),
        bits=section.strings("bits", ()),
        words={name: tuple(words.array(name)) for name in words.names()},
    )
