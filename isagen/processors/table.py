"""ISA tables: the levels of one architecture, read from TOML."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from ..model.errors import IsagenError, TableError, did_you_mean
from ..model.toml import Section, parse_toml
from .features import PROCESSORS, Features, load_features

DIALECTS = ("gnu", "msvc")
# A level's name becomes a macro, an enumerator, a file suffix and part of a symbol (`isa_kernel_NAME__stub`).
LEVEL_NAME = re.compile(r"[A-Z][A-Z0-9]*(_[A-Z0-9]+)*\Z")
# The generated source keeps sets of levels in 64 bits.
MAXIMUM_LEVELS = 64
VERSION = re.compile(r"\d+(\.\d+)*\Z")


@dataclass(frozen=True)
class Level:
    """A named set of features that kernels are compiled for. Keys as in the table's TOML."""

    name: str
    rank: int
    requires: tuple[str, ...]
    features: tuple[str, ...]
    vector_bits: int
    minimum: Mapping[str, str]
    flags: Mapping[str, tuple[str, ...]]
    optional_flags: Mapping[str, tuple[str, ...]]
    defines: tuple[str, ...]
    probe: str


@dataclass(frozen=True)
class Table:
    """The levels of one architecture, lowest rank first."""

    name: str
    features: Features
    override: str
    prologue: str
    levels: tuple[Level, ...]
    files: tuple[Path, ...]

    @property
    def base(self) -> Level:
        """The lowest level: required by all others, and always built."""
        return self.levels[0]

    def level(self, name: str) -> Level:
        """Return the level called `name` (KeyError if there is none)."""
        for level in self.levels:
            if level.name == name:
                return level
        raise KeyError(name)

    def names(self) -> tuple[str, ...]:
        """Return the levels' names, lowest rank first."""
        return tuple(level.name for level in self.levels)

    def below(self, name: str) -> tuple[Level, ...]:
        """Return the levels that `name` requires, directly or not, lowest rank first."""
        found: set[str] = set()
        queue = [name]
        while queue:
            for required in self._direct(queue.pop()):
                if required not in found:
                    found.add(required)
                    queue.append(required)
        return tuple(level for level in self.levels if level.name in found)

    def _direct(self, name: str) -> tuple[str, ...]:
        return self.level(name).requires or ((self.base.name,) if name != self.base.name else ())

    def required_features(self, name: str) -> tuple[str, ...]:
        """Return the features of `name` and of all levels below it."""
        names = [f for level in (*self.below(name), self.level(name)) for f in level.features]
        return tuple(dict.fromkeys(names))

    def defines(self, name: str) -> tuple[str, ...]:
        """Return the macros that a kernel sees at `name`: the level's own, and those of the levels below of its width.

        AVX512 does not define CPU_CAPABILITY_AVX2: ATen's vec headers read these macros to choose a register width.
        """
        level = self.level(name)
        implied = [
            f"CPU_CAPABILITY_{lower.name}"
            for lower in self.below(name)
            if lower is not self.base and lower.vector_bits == level.vector_bits
        ]
        own = [f"CPU_CAPABILITY={name}", f"CPU_CAPABILITY_{name}"]
        return (*level.defines, *implied, *own)


def builtin_tables() -> tuple[str, ...]:
    """Return the names of the tables that come with isagen."""
    return tuple(sorted(_builtin()))


def _builtin() -> dict[str, Path]:
    return {path.stem: path for path in PROCESSORS.glob("*/tables/*.toml")}


def default_table(cpu_family: str) -> str:
    """Return the name of the table for a Meson `cpu_family`: x86's own, or the one that only has the baseline."""
    return "x86" if cpu_family == "x86_64" else "generic"


def other_levels() -> frozenset[str]:
    """Return the names of the levels of all tables of isagen: what a project for several architectures may name."""
    return frozenset(level for name in builtin_tables() for level in load_table(name, PROCESSORS).names())


def load_table(reference: str, folder: Path, where: str = "") -> Table:
    """Load the table called `reference`: a name of ours, or a path to a TOML file, relative to `folder`.

    Raises `TableError`, which names the file and key, for anything that is not a table.
    """
    data, files = _read(reference, folder, where, ())
    shown = _shown(reference)
    top = Section(data, shown, TableError)
    name = Path(reference).stem
    features = load_features(top)
    levels = _levels(top, features)
    table = Table(
        name=name,
        features=features,
        override=top.string("override", ""),
        prologue=top.string("prologue", ""),
        levels=levels,
        files=files,
    )
    top.finish()
    return table


def _shown(reference: str) -> str:
    return reference if _is_path(reference) else f"table {reference}"


def _is_path(reference: str) -> bool:
    return reference.endswith(".toml") or "/" in reference or "\\" in reference


def _read(reference: str, folder: Path, where: str, seen: tuple[str, ...]) -> tuple[dict[str, Any], tuple[Path, ...]]:
    """Read a table and what it extends into plain data, with the project's own files among the sources."""
    if _is_path(reference):
        path = (folder / reference).resolve()
        if not path.is_file():
            raise TableError(
                f"there is no table {reference!r}",
                where=where,
                remedy=f"looked for {path}; tables of isagen: {', '.join(builtin_tables())}",
            )
        own: tuple[Path, ...] = (path,)
    else:
        if reference not in builtin_tables():
            raise TableError(
                f"there is no table {reference!r}",
                where=where,
                remedy=did_you_mean(reference, builtin_tables())
                + "; a table of your own is given as a path that ends in .toml",
            )
        path = _builtin()[reference]
        own = ()
    key = str(path)
    if key in seen:
        chain = " -> ".join(Path(p).stem for p in (*seen[seen.index(key) :], key))
        raise TableError(f"tables extend each other in a circle: {chain}", where=f"{reference}: extends")
    data = parse_toml(path, TableError, _shown(reference))
    base = data.pop("extends", None)
    if base is None:
        return data, own
    if not isinstance(base, str):
        raise TableError(f"must be a string, not {base!r}", where=f"{_shown(reference)}: extends")
    lower, files = _read(base, path.parent, f"{_shown(reference)}: extends", (*seen, key))
    return _merged(lower, data, _shown(reference)), (*own, *files)


def _merged(lower: dict[str, Any], upper: dict[str, Any], shown: str) -> dict[str, Any]:
    """Lay `upper` over `lower`: levels and extra features are merged by name and key, `drop` removes levels."""
    merged = {**lower, **upper}
    if isinstance(lower.get("ignored_macros"), list) and isinstance(upper.get("ignored_macros"), list):
        merged["ignored_macros"] = lower["ignored_macros"] + upper["ignored_macros"]
    for group in ("levels", "extra_features"):
        old, new = lower.get(group), upper.get(group)
        if isinstance(old, dict) and isinstance(new, dict):
            merged[group] = {**old}
            for name, value in new.items():
                both = isinstance(value, dict) and isinstance(old.get(name), dict)
                merged[group][name] = {**old[name], **value} if both else value
    for name in Section(merged, shown, TableError).strings("drop", ()):
        if name not in merged.get("levels", {}):
            raise TableError(
                f"there is no level {name!r} to drop",
                where=f"{shown}: drop",
                remedy=did_you_mean(name, merged.get("levels", {})),
            )
        del merged["levels"][name]
    merged.pop("drop", None)
    return merged


def _levels(top: Section, features: Features) -> tuple[Level, ...]:
    sections = dict(top.sections("levels"))
    if not sections:
        raise top.fail("levels", "the table has no levels", "add at least [levels.DEFAULT]")
    if len(sections) > MAXIMUM_LEVELS:
        raise top.fail("levels", f"the table has {len(sections)} levels", f"{MAXIMUM_LEVELS} is the most")
    levels = [_level(name, entry, sections, features) for name, entry in sections.items()]
    _check_cycles(levels, sections)
    ordered = tuple(sorted(levels, key=lambda level: level.rank))
    ranks = {level.name: level.rank for level in ordered}
    for lower, upper in pairwise(ordered):
        if lower.rank == upper.rank:
            raise sections[upper.name].fail("rank", f"is also the rank of {lower.name}", "ranks must differ")
    for level in ordered:
        for required in level.requires:
            if ranks[required] > level.rank:
                raise sections[level.name].fail(
                    "requires",
                    f"{required} has a higher rank than {level.name}",
                    "a level ranks above what it requires",
                )
    return ordered


def _level(name: str, entry: Section, levels: Mapping[str, Section], features: Features) -> Level:
    if not LEVEL_NAME.match(name):
        raise entry.fail(
            "", f"{name!r} cannot be a level's name", "use capitals, digits and single underscores: AVX512_BF16"
        )
    level = Level(
        name=name,
        rank=entry.integer("rank"),
        requires=entry.strings("requires", ()),
        features=entry.strings("features", ()),
        vector_bits=entry.integer("vector_bits"),
        minimum=_minimum(entry),
        flags=_per_dialect(entry, "flags"),
        optional_flags=_per_dialect(entry, "optional_flags"),
        defines=entry.strings("defines", ()),
        probe=entry.string("probe"),
    )
    for required in level.requires:
        if required not in levels:
            raise entry.fail("requires", f"there is no level {required!r}", did_you_mean(required, levels))
    for feature in level.features:
        if feature not in features.features:
            raise entry.fail("features", f"there is no feature {feature!r}", did_you_mean(feature, features.features))
    entry.finish()
    return level


def _minimum(entry: Section) -> dict[str, str]:
    section = entry.section("minimum")
    minimum = {compiler: section.string(compiler) for compiler in section.names()}
    for compiler, version in minimum.items():
        if not VERSION.match(version):
            raise section.fail(compiler, f"{version!r} is not a version", 'write it as in "12.1"')
    return minimum


def _per_dialect(entry: Section, key: str) -> dict[str, tuple[str, ...]]:
    section = entry.section(key)
    flags = {dialect: section.strings(dialect) for dialect in DIALECTS if dialect in section}
    for dialect, values in flags.items():
        for flag in values:
            reject_host_flag(flag, section.where(dialect), TableError)
    section.finish()
    return flags


def reject_host_flag(flag: str, where: str, error: type[IsagenError]) -> None:
    """Refuse flags that make the build depend on the CPU of the machine that builds."""
    if re.match(r"-m(arch|cpu|tune)=native\Z|[-/]Qx[Hh]ost\Z|-xHost\Z", flag):
        raise error(
            f"{flag} would build for the CPU of this machine",
            where=where,
            remedy="name the instruction sets instead; what a level compiles must not depend on who builds it",
        )


def _check_cycles(levels: Iterable[Level], sections: Mapping[str, Section]) -> None:
    requires = {level.name: level.requires for level in levels}
    done: set[str] = set()

    def visit(name: str, path: tuple[str, ...]) -> None:
        if name in path:
            circle = " -> ".join((*path[path.index(name) :], name))
            raise sections[name].fail(
                "requires", f"levels require each other in a circle: {circle}", "remove one of these"
            )
        if name in done:
            return
        for required in requires[name]:
            visit(required, (*path, name))
        done.add(name)

    for name in requires:
        visit(name, ())
