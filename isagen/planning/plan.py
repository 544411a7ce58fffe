"""Planning: which kernel is built at which level, with which flags, and why not the rest. Pure: no input or output."""

from __future__ import annotations

import hashlib
import posixpath
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ..model.errors import ConfigError, KernelError, did_you_mean
from ..model.plan import BUILT, DISABLED, UNAVAILABLE, Cell, KernelRow, LevelRow, Plan, Unit, Verdict
from ..processors.table import Table
from .config import Config, KernelConfig
from .modules import CYTHON, check_module, cython_without_module, whole_levels
from .selection import select_levels

LANGUAGE_OF_SUFFIX = {
    ".c": "c",
    ".C": "cpp",
    ".c++": "cpp",
    ".cc": "cpp",
    ".cpp": "cpp",
    ".cxx": "cpp",
}
# Characters in paths, each with the reason why a build with them fails. ninja has no escape for a bar.
UNNAMEABLE = (
    ("\\", "backslash in its path, which Meson takes for a slash"),
    ("|", "'|' in its path, which ninja takes for a separator"),
)


@dataclass(frozen=True)
class Style:
    """The spelling of options that do not depend on a level: include folders, defines, flags of every kernel."""

    include_folder: str = "-iquote"
    kernel_flags: Mapping[str, tuple[str, ...]] | None = None
    define: str = "-D"


def language_of(source: str) -> str:
    """Return the Meson language of a kernel source, by its suffix. Raises `KernelError` for any other."""
    suffix = posixpath.splitext(source)[1]
    if suffix == CYTHON:
        raise cython_without_module(source)
    if suffix not in LANGUAGE_OF_SUFFIX:
        raise KernelError(
            "is neither C nor C++",
            where=source,
            remedy=f"kernel sources end in {', '.join(sorted(LANGUAGE_OF_SUFFIX))}",
        )
    return LANGUAGE_OF_SUFFIX[suffix]


def make_plan(
    *,
    config: Config,
    table: Table,
    kernels: Sequence[str],
    option_levels: str,
    verdicts: Mapping[tuple[str, str], Verdict],
    source_root: str,
    style: Style,
    elsewhere: frozenset[str] = frozenset(),
    generated: Mapping[str, str] | None = None,
    kernel_set: str = "",
    others: Sequence[str] = (),
    module: str = "",
) -> Plan:
    """Lay out the build of `kernels` (paths from the project's root).

    `generated` gives the paths of those that are made in the build folder, from its root.

    `option_levels` is the Meson option isa_levels, `verdicts` what the probe found by (level, language), `source_root`
    the path from the build folder's root to the project's, and `elsewhere` the levels of other architectures, which may
    be named too. `others` are the kernels of other sets. `module` is the extension module that the kernels are as a
    whole. Raises `ConfigError` and `KernelError`.
    """
    check_module(module, kernels)
    check_kernels(kernels, config, others)
    names = copy_names(kernels, kernel_set)
    project = select_levels(config.levels, table, f"{config.shown}: levels", elsewhere)
    packager = select_levels((option_levels,), table, "Meson option isa_levels", elsewhere)
    made = generated or {}
    rows = []
    for source in kernels:
        language = language_of(source)
        own = config.kernels.get(source, KernelConfig())
        disabled = _disabled(table, config, source, own, project, packager, elsewhere)
        cells = tuple(
            _cell(level, disabled.get(level, ""), verdicts[level, language], names[source], table, style, own.args)
            for level in table.names()
        )
        if cells[0].verdict != BUILT:
            raise ConfigError(
                f"{table.base.name} cannot be built for {source}: {cells[0].reason}",
                where=f"table {table.name}",
                remedy="every kernel needs the lowest level; use a compiler that has it, or another table",
            )
        line = made.get(source, posixpath.join(source_root, source))
        rows.append(KernelRow(source, line, language, own.args, cells, generated=source in made))
    rows = whole_levels(rows) if module else rows
    return Plan(
        table=table.name,
        override=table.override if config.override is None else config.override,
        levels=tuple(_level_rows(table, rows, verdicts)),
        kernels=tuple(rows),
        units=tuple(_units(rows, table, style, source_root, kernel_set)),
        kernel_set=kernel_set,
        module=module,
    )


def _disabled(
    table: Table,
    config: Config,
    source: str,
    own: KernelConfig,
    project: frozenset[str],
    packager: frozenset[str],
    elsewhere: frozenset[str],
) -> dict[str, str]:
    """Return the levels that project or packager switched off for one kernel, each with where."""
    found = {level: "by the Meson option isa_levels" for level in table.names() if level not in packager}
    if own.levels is not None:
        where = f"{config.shown}: kernels.{source!r}.levels"
        chosen = select_levels(own.levels, table, where, elsewhere)
        found |= {level: f"by {where}" for level in table.names() if level not in chosen}
    return found | {level: f"by {config.shown}: levels" for level in table.names() if level not in project}


def _cell(
    level: str, disabled: str, verdict: Verdict, name: str, table: Table, style: Style, args: tuple[str, ...]
) -> Cell:
    """Return the cell of a kernel, whose copies are called after `name`, at one level."""
    if disabled:
        return Cell(level, DISABLED, disabled)
    if not verdict.available:
        return Cell(level, UNAVAILABLE, verdict.reason)
    defines = tuple(style.define + define for define in table.defines(level))
    flags = (*verdict.flags, *defines, *args)
    return Cell(level, BUILT, verdict.reason, flags, f"{name}.{level}{posixpath.splitext(name)[1]}")


def check_kernels(kernels: Sequence[str], config: Config, others: Sequence[str] = ()) -> None:
    """Raise `KernelError` or `ConfigError` if the list of kernels, or what isa.toml says of one, cannot be right.

    `others` are the kernels of other sets.
    """
    for source in kernels:
        language_of(source)
    for source, count in Counter(kernels).items():
        if count > 1:
            raise KernelError("is listed twice", where=f"isa_kernels: {source}", remedy="name every kernel once")
        if re.search(r"[\n\r]", source):
            raise KernelError(
                "has a line break in its name", where=f"isa_kernels: {source!r}", remedy="rename the file"
            )
        for character, reason in UNNAMEABLE:
            if character in source:
                raise KernelError(f"has a {reason}", where=f"isa_kernels: {source}", remedy="rename the file or folder")
    for source in config.kernels:
        if source not in kernels and source not in others:
            raise ConfigError(
                f"{source!r} is not among the kernels",
                where=f"{config.shown}: kernels",
                remedy=did_you_mean(source, (*kernels, *others)) + " (paths start at the project's root)",
            )


def copy_names(kernels: Sequence[str], kernel_set: str = "") -> dict[str, str]:
    """Return a name for the copies of each kernel: its file name, with as many folders before it as make it unique.

    The name of a set is its start: the copies of all sets are in one folder.
    """
    names = _unique_names(kernels)
    return {source: f"{kernel_set}.{name}" for source, name in names.items()} if kernel_set else names


def _unique_names(kernels: Sequence[str]) -> dict[str, str]:
    names = {source: posixpath.basename(source) for source in kernels}
    depth = 1
    while True:
        # Names are compared without case: two copies must differ on every file system.
        counts = Counter(name.casefold() for name in names.values())
        clashing = [source for source, name in names.items() if counts[name.casefold()] > 1]
        if not clashing:
            return names
        depth += 1
        for source in clashing:
            parts = source.split("/")
            names[source] = "_".join(parts[-depth:])
            if depth > len(parts):  # a_b.cpp beside a/b.cpp: folders alone cannot part them
                names[source] = f"{kernels.index(source)}_{names[source]}"


def _level_rows(
    table: Table, kernels: Iterable[KernelRow], verdicts: Mapping[tuple[str, str], Verdict]
) -> Iterable[LevelRow]:
    kernels = tuple(kernels)
    languages = dict.fromkeys(kernel.language for kernel in kernels)
    for index, level in enumerate(table.levels):
        cells = [kernel.cells[index] for kernel in kernels]
        # Without kernels, the lowest level is what the program itself runs at.
        none = Cell(level.name, DISABLED, "there are no kernels") if index else Cell(level.name, BUILT, "")
        best = min(cells, key=lambda cell: (BUILT, UNAVAILABLE, DISABLED).index(cell.verdict), default=none)
        found = {language: verdicts[level.name, language] for language in languages}
        needed = set(table.required_features(level.name))
        needed |= {name for verdict in found.values() for name in verdict.features}
        yield LevelRow(
            name=level.name,
            rank=level.rank,
            verdict=best.verdict,
            reason=best.reason,
            below=tuple(lower.name for lower in table.below(level.name)),
            features=tuple(name for name in table.features.features if name in needed),
            flags={language: verdict.flags for language, verdict in found.items()},
            macros=table.defines(level.name),
            dropped={language: verdict.dropped for language, verdict in found.items() if verdict.dropped},
        )


def _units(
    kernels: Sequence[KernelRow], table: Table, style: Style, source_root: str, kernel_set: str
) -> Iterable[Unit]:
    """Group the copies: by level, by folders of the original (its near includes), and by the kernel's own arguments."""
    groups: dict[tuple[str, tuple[str, ...], tuple[str, ...]], dict[str, list[Cell]]] = {}
    for level in table.names():
        for kernel in kernels:
            cell = next(cell for cell in kernel.cells if cell.level == level)
            if cell.verdict == BUILT:
                key = (level, _near(kernel, source_root), kernel.args)
                groups.setdefault(key, {}).setdefault(kernel.language, []).append(cell)
    extra = style.kernel_flags or {}
    for (level, folders, args), by_language in groups.items():
        # A name that other kernels' folders and arguments do not change: theirs are then not compiled again.
        key_words = (*([f"set {kernel_set}"] if kernel_set else []), *folders, *args)
        suffix = hashlib.sha256("\0".join(key_words).encode()).hexdigest()[:8]
        yield Unit(
            name=f"isa_{level}__{suffix}",
            level=level,
            copies=tuple(cell.copy for cells in by_language.values() for cell in cells),
            args={
                language: (
                    *(style.include_folder + folder for folder in folders),
                    *extra.get(language, ()),
                    *cells[0].flags,
                )
                for language, cells in by_language.items()
            },
        )


def _near(kernel: KernelRow, source_root: str) -> tuple[str, ...]:
    """Return the folders of a kernel's near includes, from the build folder's root.

    A generated source finds what is generated beside it first, then what is at the same place in the project.
    """
    here = posixpath.dirname(kernel.line) or "."
    beside = posixpath.dirname(posixpath.join(source_root, kernel.source)) or "."
    return (here, beside) if kernel.generated else (here,)
