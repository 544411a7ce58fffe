"""Reads a features file's facts about instructions, and about how code detects features."""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Mapping
from dataclasses import dataclass, field

from ..model.toml import Section


@dataclass(frozen=True)
class CpuChecks:
    """Symbols of toolchains and libraries by which code detects CPU features.

    The functions `functions` detect them. Variables whose names start with one of `variables` contain features. Symbols
    whose names start with one of `libc` belong to C libraries, which detect features for themselves. `bits` lists the
    features by the number of their bit, "" for an unknown feature. `words` maps a variable to a number for each of its
    32-bit words: that of the word's first bit, or a negative number if the word contains no features.
    """

    functions: frozenset[str] = frozenset()
    variables: tuple[str, ...] = ()
    libc: tuple[str, ...] = ()
    bits: tuple[str, ...] = ()
    words: Mapping[str, tuple[int, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class Instructions:
    """Facts for the audit about instruction sets and mnemonics, under the decoder's names.

    Every CPU of the architecture has the instruction sets `always`; `names` maps other sets to features. `harmless`
    maps mnemonics to the reason why they need no check. `after` maps a mnemonic to another one: in a function that
    contains both, the first needs no check. `checked` maps patterns of names of the toolchain's functions to the reason
    why their instructions need no check. `nameless` maps features to functions of the toolchain that check for the
    feature before they use it. Stripped files have no names of these functions.
    """

    features: tuple[str, ...] = ()
    always: frozenset[str] = frozenset()
    names: Mapping[str, str] = field(default_factory=dict)
    harmless: Mapping[str, str] = field(default_factory=dict)
    after: Mapping[str, str] = field(default_factory=dict)
    cpu_checks: CpuChecks = field(default_factory=CpuChecks)
    checked: Mapping[str, str] = field(default_factory=dict)
    nameless: Mapping[str, str] = field(default_factory=dict)


OR = " or "  # between two features of which a CPU needs one


def have(features: Container[str], needed: Iterable[str]) -> bool:
    """Return whether `features`, in normal form, contain each `needed` one. For "a or b", one of the two is enough."""
    return all(any(normal_name(one) in features for one in name.split(OR)) for name in needed)


def normal_name(name: str) -> str:
    """Return the normal form of a feature's name: ``avx512f`` for ``AVX512F`` and ``avx512_f``."""
    return name.lower().replace("_", "")


def read_instructions(section: Section, features: Collection[str]) -> Instructions:
    """Read the section about instructions of a features file that defines `features`."""
    asked = section.section("asked")
    words = asked.section("words")
    return section.record(
        Instructions,
        features=tuple(features),
        cpu_checks=asked.record(CpuChecks, words={name: tuple(words.array(name)) for name in words.names()}),
    )
