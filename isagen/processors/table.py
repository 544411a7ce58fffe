"""Reads ISA tables, the levels of one architecture, from TOML."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ..model.errors import TableError, did_you_mean
from ..model.toml import Section, parse_toml
from .features import Features, load_features
from .flags import joined, read_flags
from .processor import FOLDER
from .registry import builtin_tables

# A level's name becomes a macro, an enumerator, a file suffix and part of a symbol (`isa_kernel_NAME__stub`).
LEVEL_NAME = re.compile(r"[A-Z][A-Z0-9]*(_[A-Z0-9]+)*\Z")
# The generated source stores sets of levels in 64 bits.
MAXIMUM_LEVELS = 64
Data = dict[str, Any]  # a table as read from TOML
VERSION = re.compile(r"\d+(\.\d+)*\Z")


@dataclass(frozen=True, kw_only=True)
class Level:
    """A named set of features that kernels are compiled for. The fields, except `name` and `below`, are keys in TOML.

    `below` are the levels that it requires, directly or not, lowest rank first. `flags` and `optional_flags` map a
    dialect of the compiler's options to flags; a compiler may refuse optional ones. Unless `flags_stand_alone` is set,
    they include the flags of the levels that this level requires directly.
    """

    name: str
    rank: int
    requires: tuple[str, ...] = ()
    below: tuple[str, ...] = ()
    features: tuple[str, ...] = ()
    vector_bits: int
    minimum: Mapping[str, str] = field(default_factory=dict)
    flags: Mapping[str, tuple[str, ...]]
    optional_flags: Mapping[str, tuple[str, ...]]
    flags_stand_alone: bool = False
    defines: tuple[str, ...] = ()
    drop_defines: tuple[str, ...] = ()
    probe: str


@dataclass(frozen=True)
class Table:
    """The levels of one architecture, lowest rank first.

    `files` are the project's files that contain it. `prologue` is C for the start of probes. `other_levels` are
    levels of other architectures: a project may name them, without effect.
    """

    name: str
    features: Features
    levels: tuple[Level, ...]
    files: tuple[Path, ...]
    override: str = ""
    prologue: str = ""
    other_levels: frozenset[str] = frozenset()

    @property
    def lowest(self) -> Level:
        """The lowest level: all others require it, and each kernel is built at it unless isa.toml says otherwise."""
        return self.levels[0]

    def level(self, name: str) -> Level:
        """Return the level called `name` (KeyError if there is none)."""
        return {level.name: level for level in self.levels}[name]

    def names(self) -> tuple[str, ...]:
        """Return the levels' names, lowest rank first."""
        return tuple(level.name for level in self.levels)

    def below(self, name: str) -> tuple[Level, ...]:
        """Return the levels that `name` requires, directly or not, lowest rank first."""
        return tuple(map(self.level, self.level(name).below))

    def required_features(self, name: str) -> tuple[str, ...]:
        """Return the features of `name` and of all levels below it."""
        levels = (*self.below(name), self.level(name))
        return tuple(dict.fromkeys(feature for level in levels for feature in level.features))

    def defines(self, name: str, lacking: Collection[str] = ()) -> tuple[str, ...]:
        """Return the macros that are defined for a kernel at level `name`, each as NAME or NAME=VALUE.

        They include the `defines` of the levels below, except those that this level or a level between drops. For each
        level X below with the same register width, except the lowest level, CPU_CAPABILITY_X is defined: ATen's vec
        headers choose a register width by these macros. It is not defined for the levels in `lacking`, which the
        compiler cannot build, because kernels would use their intrinsics.
        """
        level = self.level(name)
        defines: dict[str, str] = {}
        for one in (*self.below(name), level):
            for dropped in one.drop_defines:
                defines.pop(dropped, None)
            defines |= {macro.partition("=")[0]: macro for macro in one.defines}
        implied = [
            f"CPU_CAPABILITY_{lower.name}"
            for lower in self.below(name)
            if lower is not self.lowest and lower.vector_bits == level.vector_bits and lower.name not in lacking
        ]
        own = [f"CPU_CAPABILITY={name}", f"CPU_CAPABILITY_{name}"]
        return tuple(dict.fromkeys((*defines.values(), *implied, *own)))


def other_levels(more: Iterable[str] = ()) -> frozenset[str]:
    """Return `more` and the names of all built-in tables' levels: a project may name levels of any architecture."""
    return frozenset(more).union(*(_read(name, FOLDER, "")[0]["levels"] for name in builtin_tables()))


def load_table(reference: str, folder: Path, where: str = "") -> Table:
    """Load the table `reference`: the name of a table of isagen, or the path of a TOML file, relative to `folder`.

    Raises `TableError`, which names the file and key, if there is no such table, or it is wrong.
    """
    data, files = _read(reference, folder, where)
    top = Section(data, shown_name(reference), TableError)
    features = load_features(top)
    return top.record(
        Table,
        name=Path(reference).stem,
        features=features,
        levels=_levels(top, features),
        files=files,
        other_levels=frozenset(),
    )


def _levels(top: Section, features: Features) -> tuple[Level, ...]:
    sections = dict(top.sections("levels"))
    if not sections:
        raise top.fail("levels", "the table has no levels", "add at least [levels.DEFAULT]")
    if len(sections) > MAXIMUM_LEVELS:
        raise top.fail("levels", f"the table has {len(sections)} levels", f"{MAXIMUM_LEVELS} is the most")
    own = sorted((_level(*item, sections, features) for item in sections.items()), key=lambda level: level.rank)
    levels: dict[str, Level] = {}
    added: dict[str, set[str]] = {}  # by level: the levels whose flags it has
    for level in own:
        entry = sections[level.name]
        if same := [lower for lower in levels if levels[lower].rank == level.rank]:
            raise entry.fail("rank", f"is also the rank of {same[0]}", "ranks must differ")
        for name in level.requires:
            if name not in levels:
                remedy = "a level ranks above what it requires"
                raise entry.fail("requires", f"{name} does not rank below {level.name}", remedy)
        direct = level.requires or tuple(levels)[:1]
        required = set(direct).union(*(levels[name].below for name in direct))
        macros = [macro.partition("=")[0] for name in required for macro in levels[name].defines]
        entry.check("drop_defines", "macro that a level below defines as", level.drop_defines, macros)
        added[level.name] = {level.name}.union(*(() if level.flags_stand_alone else map(added.__getitem__, direct)))
        gathered = [one for one in own if one.name in added[level.name]]
        flags = {dialect: joined(one.flags.get(dialect, ()) for one in gathered) for dialect in level.flags}
        optional = {dialect: joined(one.optional_flags.get(dialect, ()) for one in gathered) for dialect in level.flags}
        levels[level.name] = replace(
            level,
            below=tuple(name for name in levels if name in required),
            flags=flags,
            optional_flags={
                dialect: words for dialect, words in optional.items() if words or dialect in level.optional_flags
            },
        )
    return tuple(levels.values())


def _level(name: str, entry: Section, levels: Mapping[str, Section], features: Features) -> Level:
    if not LEVEL_NAME.match(name):
        raise entry.fail(
            "", f"{name!r} cannot be a level's name", "use capitals, digits and single underscores: AVX512_BF16"
        )
    flags, optional = read_flags(entry, "flags"), read_flags(entry, "optional_flags")
    level = entry.record(Level, name=name, below=(), flags=flags, optional_flags=optional)
    for compiler, version in level.minimum.items():
        if not VERSION.match(version):
            raise entry.fail(f"minimum.{compiler}", f"{version!r} is not a version", 'write it as in "12.1"')
    entry.check("requires", "level", level.requires, levels)
    entry.check("features", "feature", level.features, features.features)
    return level


# ---- tables that extend tables


def shown_name(reference: str) -> str:
    """Return how messages name a table."""
    return reference if _is_path(reference) else f"table {reference}"


def _is_path(reference: str) -> bool:
    return reference.endswith(".toml") or "/" in reference or "\\" in reference


def _read(reference: str, folder: Path, where: str, seen: tuple[str, ...] = ()) -> tuple[Data, tuple[Path, ...]]:
    """Return a table's data, and the project's files that contain it. `seen` is the chain of tables that extend it."""
    path, own = _find(reference, folder, where)
    key, shown = str(path), shown_name(reference)
    if key in seen:
        chain = " -> ".join(Path(p).stem for p in (*seen[seen.index(key) :], key))
        raise TableError(f"tables extend each other in a circle: {chain}", where=f"{reference}: extends")
    data = parse_toml(path, TableError, shown)
    base = Section(data, shown, TableError).string("extends", "")
    if "extends" not in data:
        return data, own
    del data["extends"]
    lower, files = _read(base, path.parent, f"{shown}: extends", (*seen, key))
    return _merged(_chosen(lower, data, shown), data), (*own, *files)


def _find(reference: str, folder: Path, where: str) -> tuple[Path, tuple[Path, ...]]:
    """Return a table's file, and the paths that the build depends on: none for a table of isagen."""
    tables = builtin_tables()
    if _is_path(reference):
        path = (folder / reference).resolve()
        if path.is_file():
            named = folder / reference
            # A build depends on a symbolic link and on its target: either may change.
            return path, (path,) if os.path.normpath(named) == os.fspath(path) else (named, path)
        remedy = f"looked for {path}; tables of isagen: {', '.join(tables)}"
    elif reference in tables:
        return tables[reference], ()
    else:
        remedy = did_you_mean(reference, tables) + "; a table of your own is given as a path that ends in .toml"
    raise TableError(f"there is no table {reference!r}", where=where, remedy=remedy)


def _chosen(lower: Data, upper: Data, shown: str) -> Data:
    """Return `lower` with only the levels that `upper` keeps, and remove the keys `keep` and `drop` from `upper`."""
    section = Section(upper, shown, TableError)
    levels = Section(lower, shown, TableError).section("levels").names()
    chosen = {}
    for key in ("keep", "drop"):
        if key in upper:
            chosen[key] = section.strings(key)
            section.check(key, "level", chosen[key], levels)
            del upper[key]
    if len(chosen) == 2:
        raise section.fail("drop", "cannot be given together with keep", "list all levels that stay in keep")
    if not chosen:
        return lower
    keep = chosen["keep"] if "keep" in chosen else [name for name in levels if name not in chosen["drop"]]
    return {**lower, "levels": {name: lower["levels"][name] for name in levels if name in keep}}


def _merged(lower: Data, upper: Data) -> Data:
    """Return `lower` updated by `upper`.

    Levels and extra features are merged key by key. The lists of ignored macros and of known bugs are joined.
    """
    merged = {**lower, **upper}
    for group in ("ignored_macros", "known_broken"):
        if isinstance(lower.get(group), list) and isinstance(upper.get(group), list):
            merged[group] = lower[group] + upper[group]
    for group in ("levels", "extra_features"):
        old, new = lower.get(group), upper.get(group)
        if isinstance(old, dict) and isinstance(new, dict):
            merged[group] = {**old}
            for name, value in new.items():
                both = isinstance(value, dict) and isinstance(old.get(name), dict)
                merged[group][name] = {**old[name], **value} if both else value
    return merged
