"""Compiler flags of levels: a level's own, and the resulting ones with those of the levels that it requires."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ..model.errors import IsagenError, TableError
from ..model.toml import Section
from .closure import closure

DIALECTS = ("gnu", "msvc")
# Options whose value is the next word.
WITH_VALUE = ("--param", "-Xarch_host", "-Xassembler", "-Xclang", "-Xlinker", "-Xpreprocessor", "-include", "-mllvm")
# Options of which the last one counts: -march=A and -march=B, /arch:A and /arch:B.
ONE_VALUE = re.compile(r"-m[a-z0-9-]+=|[-/]arch:")

Flags = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class OwnFlags:
    """A level's own flags in the table, by compiler family.

    Where they `stand_alone`, those of the levels that it requires are not added.
    """

    flags: Flags
    optional: Flags
    stand_alone: bool


def read_flags(entry: Section) -> OwnFlags:
    """Read a level's own flags."""
    return OwnFlags(
        flags=_per_dialect(entry, "flags"),
        optional=_per_dialect(entry, "optional_flags"),
        stand_alone=entry.boolean("flags_stand_alone", False),
    )


def resulting_flags(
    name: str, own: Mapping[str, OwnFlags], requires: Mapping[str, Sequence[str]]
) -> tuple[Flags, Flags]:
    """Return the flags and the optional flags of level `name`: of the levels that it requires, and then its own.

    `own` has the levels lowest rank first. A compiler family for which a level has no flags cannot build it.
    """
    # Its own come last.
    found = closure([name], lambda level: () if own[level].stand_alone else requires[level])
    levels = [flags for level, flags in own.items() if level in found]
    mine = own[name]
    flags = {dialect: joined(one.flags.get(dialect, ()) for one in levels) for dialect in mine.flags}
    optional = {dialect: joined(one.optional.get(dialect, ()) for one in levels) for dialect in mine.flags}
    return flags, {dialect: found for dialect, found in optional.items() if found or dialect in mine.optional}


def joined(lists: Iterable[Sequence[str]]) -> tuple[str, ...]:
    """Return the flags of all lists, each where it stands last; of options with one value, only the last."""
    flags: dict[str, tuple[str, ...]] = {}
    for words in lists:
        for unit in units(words):
            value = ONE_VALUE.match(unit[0])
            key = value[0] if value else " ".join(unit)
            flags.pop(key, None)
            flags[key] = unit
    return tuple(word for unit in flags.values() for word in unit)


def units(words: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Yield each flag, with the next word where that is its value."""
    rest = iter(words)
    for word in rest:
        value = next(rest, None) if word in WITH_VALUE else None
        yield (word,) if value is None else (word, value)


def _per_dialect(entry: Section, key: str) -> Flags:
    section = entry.section(key)
    flags = {dialect: section.strings(dialect) for dialect in DIALECTS if dialect in section}
    for dialect, values in flags.items():
        for flag in values:
            reject_flag(flag, section.where(dialect), TableError)
    section.finish()
    return flags


def reject_flag(flag: str, where: str, error: type[IsagenError]) -> None:
    """Refuse flags that make the build depend on the CPU of the machine that builds, and those of LTO.

    With LTO the compiler makes no code that could be sealed.
    """
    if re.match(r"-m(arch|cpu|tune)=native\Z|[-/]Qx[Hh]ost\Z|-xHost\Z", flag):
        raise error(
            f"{flag} would build for the CPU of this machine",
            where=where,
            remedy="name the instruction sets instead; what a level compiles must not depend on who builds it",
        )
    if re.match(r"-flto(=|\Z)|[-/]GL\Z", flag):
        raise error(
            f"{flag} asks for link-time optimisation, which would merge code of different levels",
            where=where,
            remedy="take it out: kernels are compiled without it; -Db_lto=true applies it to everything else",
        )
