"""Planning: which kernel is built at which level, with which flags, and why not the rest. Pure: no input or output."""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace

from ..model.errors import ConfigError, KernelError
from ..model.files import content_digest
from ..model.languages import language_of
from ..model.plan import BUILT, DISABLED, UNAVAILABLE, Cell, KernelRow, LevelRow, Plan, Unit, Verdict
from ..processors.table import Level, Table
from .config import Config
from .contained import contained_levels, without_contained
from .kernel_settings import Settings, check_keys, settings_of
from .levels import aliases_of, select_levels
from .modules import CYTHON, check_module, cython_without_module, whole_levels
from .shims import check_register, shim_of, unsealed, with_shim

# Characters in paths, each with the reason why a build with them fails. ninja has no escape for a bar.
UNNAMEABLE = (
    ("\\", "backslash in its path, which Meson takes for a slash"),
    ("|", "'|' in its path, which ninja takes for a separator"),
)


@dataclass(frozen=True)
class Style:
    """The options that do not depend on a level: of kernels and shims (`kernel_flags`), and of copies alone."""

    include_folder: str = "-iquote"
    kernel_flags: Mapping[str, tuple[str, ...]] | None = None
    copy_flags: Mapping[str, tuple[str, ...]] | None = None

    def quote_option(self, language: str) -> str:
        """Return the option that adds a folder for quoted includes; gfortran has only one for all includes."""
        return "-I" if language == "fortran" else self.include_folder


def make_plan(
    *,
    config: Config,
    table: Table,
    kernels: Sequence[str],
    option_levels: str,
    verdicts: Mapping[tuple[str, str], Verdict],
    source_root: str,
    style: Style,
    elsewhere: Set[str] = frozenset(),
    generated: Mapping[str, str] | None = None,
    kernel_set: str = "",
    others: Sequence[str] = (),
    sealed: bool = True,
    module: str = "",
    baseline: Collection[str] = (),
) -> Plan:
    """Lay out the build of `kernels` (paths from the project's root).

    `generated` gives the paths of those that are made in the build folder, from its root.

    `option_levels` is the Meson option isa_levels, `verdicts` what the probe found by (level, language), `source_root`
    the path from the build folder's root to the project's, and `elsewhere` the levels of other architectures, which may
    be named too. `others` are the kernels of other sets. `module` names the extension module that all kernels together
    make, if they do. `baseline` are the features that ordinary code of the build requires. Raises `ConfigError` and
    `KernelError`.
    """
    check_module(module, kernels)
    check_kernels(kernels, config, others)
    names = copy_names(kernels, kernel_set)
    project = select_levels(config.levels, table, f"{config.shown}: levels", elsewhere)
    packager = select_levels((option_levels,), table, "Meson option isa_levels", elsewhere)
    made = generated or {}
    defines = {level: tuple(f"-D{one}" for one in table.defines(level)) for level in table.names()}
    rows = []
    for source in kernels:
        language = language_of(source)
        own = settings_of(source, config)
        check_register(source, own, config.shown)
        disabled = _disabled(table, config, own, project, packager, elsewhere)
        if not sealed:
            disabled |= unsealed(source, table)
        cells = tuple(
            _cell(
                level, disabled.get(level, ""), verdicts[level, language], (*defines[level], *own.args), names[source]
            )
            for level in table.names()
        )
        if own.register:
            cells = tuple(with_shim(source, own, cell) for cell in cells)
        if cells[0].verdict != BUILT:
            raise ConfigError(
                f"{table.base.name} cannot be built for {source}: {cells[0].reason}",
                where=f"table {table.name}",
                remedy="every kernel needs the lowest level; use a compiler that has it, or another table",
            )
        line = made.get(source, posixpath.join(source_root, source))
        rows.append(KernelRow(source, line, language, own.args, cells, source in made, own.header, dict(own.register)))
    rows = whole_levels(rows) if module else rows
    contained = contained_levels({row.language for row in rows}, verdicts, baseline)
    if contained:
        rows = [replace(row, cells=without_contained(row.cells, contained)) for row in rows]
    return Plan(
        table=table.name,
        override=table.override if config.override is None else config.override,
        levels=tuple(_level_rows(table, rows, verdicts)),
        kernels=tuple(rows),
        units=tuple(_units(rows, table, style, source_root, kernel_set, verdicts)),
        kernel_set=kernel_set,
        aliases=aliases_of(config, table, elsewhere),
        module=module,
    )


def _disabled(
    table: Table,
    config: Config,
    own: Settings,
    project: frozenset[str],
    packager: frozenset[str],
    elsewhere: Set[str],
) -> dict[str, str]:
    """Return the levels that project or packager switched off for one kernel, each with the place of the setting."""
    found = {level: "by the Meson option isa_levels" for level in table.names() if level not in packager}
    if own.levels is not None:
        chosen = select_levels(own.levels, table, own.levels_where, elsewhere)
        found |= {level: f"by {own.levels_where}" for level in table.names() if level not in chosen}
    return found | {level: f"by {config.shown}: levels" for level in table.names() if level not in project}


def _cell(level: str, disabled: str, verdict: Verdict, args: tuple[str, ...], name: str) -> Cell:
    """Return the cell at one level of a kernel, whose copies are called after `name`."""
    if disabled:
        return Cell(level, DISABLED, disabled)
    if not verdict.available:
        return Cell(level, UNAVAILABLE, verdict.reason)
    suffix = posixpath.splitext(name)[1]
    return Cell(level, BUILT, verdict.reason, (*verdict.flags, *args), f"{name}.{level}{suffix}")


def check_kernels(kernels: Sequence[str], config: Config, others: Sequence[str] = ()) -> None:
    """Raise `KernelError` or `ConfigError` if the list of kernels, or what isa.toml says of one, cannot be right.

    `others` are the kernels of other sets.
    """
    for source in kernels:
        if source.endswith(CYTHON):
            raise cython_without_module(source)
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
    check_keys(config, (*kernels, *others))


def copy_names(kernels: Sequence[str], kernel_set: str = "") -> dict[str, str]:
    """Return a name for the copies of each kernel: its file name, with as many folders before it as make it unique.

    Names start with the set's name, because the copies of all sets are in one folder.
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
            if depth > len(parts):  # a_b.cpp beside a/b.cpp: folders alone do not make them unique
                names[source] = f"{kernels.index(source)}_{names[source]}"


def _level_rows(
    table: Table, kernels: Iterable[KernelRow], verdicts: Mapping[tuple[str, str], Verdict]
) -> Iterable[LevelRow]:
    kernels = tuple(kernels)
    languages = dict.fromkeys(kernel.language for kernel in kernels)
    features_of: dict[str, tuple[str, ...]] = {}
    for index, level in enumerate(table.levels):
        cells = [kernel.cells[index] for kernel in kernels]
        # Without kernels, only the lowest level counts as built.
        none = Cell(level.name, DISABLED, "there are no kernels") if index else Cell(level.name, BUILT, "")
        best = min(cells, key=lambda cell: (BUILT, UNAVAILABLE, DISABLED).index(cell.verdict), default=none)
        found = {language: verdicts[level.name, language] for language in languages}
        needed = set(table.required_features(level.name))
        needed |= {name for verdict in found.values() for name in verdict.features}
        features = features_of[level.name] = tuple(name for name in table.features.features if name in needed)
        below = tuple(lower.name for lower in table.below(level.name))
        yield LevelRow(
            name=level.name,
            rank=level.rank,
            verdict=best.verdict,
            reason=best.reason,
            below=below,
            features=features,
            flags={language: verdict.flags for language, verdict in found.items()},
            macros=table.defines(level.name),
            dropped={language: verdict.dropped for language, verdict in found.items() if verdict.dropped},
            added=_added(table, level, found.values(), [name for lower in below for name in features_of[lower]]),
        )


def _added(table: Table, level: Level, verdicts: Iterable[Verdict], below: Sequence[str]) -> tuple[str, ...]:
    """Return the features that flags of a level turn on, and that neither the table nor the levels below need."""
    features = {name for verdict in verdicts if verdict.flags for name in verdict.features}
    added = table.features.unnamed(features, (*table.required_features(level.name), *below))
    return tuple(name for name in table.features.features if name in added)


def _units(
    kernels: Sequence[KernelRow],
    table: Table,
    style: Style,
    source_root: str,
    kernel_set: str,
    verdicts: Mapping[tuple[str, str], Verdict],
) -> Iterable[Unit]:
    """Group the copies: by level, by folders for quoted includes, and by the kernel's own arguments."""
    groups: dict[tuple[str, tuple[str, ...], tuple[str, ...]], dict[str, list[Cell]]] = {}
    folders_of = {kernel.source: _quote_folders(kernel, source_root) for kernel in kernels}
    by_level: dict[str, list[tuple[KernelRow, Cell]]] = {level: [] for level in table.names()}
    for kernel in kernels:
        for cell in kernel.cells:
            if cell.copy:
                by_level[cell.level].append((kernel, cell))
    for level, built in by_level.items():
        copies = [(kernel, kernel.language, cell) for kernel, cell in built]
        # Shims come last: all C of a unit has the arguments of its first C copy, which is a kernel's if there is one.
        shims = [(kernel, shim_of(cell, kernel, verdicts, table)) for kernel, cell in built if cell.shim]
        copies += [(kernel, "c", cell) for kernel, cell in shims]
        for kernel, language, cell in copies:
            key = (level, folders_of[kernel.source], kernel.args)
            groups.setdefault(key, {}).setdefault(language, []).append(cell)
    extra, of_copies = style.kernel_flags or {}, style.copy_flags or {}
    for (level, folders, args), by_language in groups.items():
        # The name depends on this group alone, so that a change of another kernel's arguments does not compile it
        # again.
        key_words = (*([f"set {kernel_set}"] if kernel_set else []), *folders, *args)
        digest = content_digest("\0".join(key_words).encode())[:8]
        yield Unit(
            name=f"isa_{level}__{digest}" if key_words else f"isa_{level}",  # short: ninja reads it for each object
            level=level,
            copies=tuple(cell.copy for cells in by_language.values() for cell in cells),
            args={
                language: (
                    *(style.quote_option(language) + folder for folder in folders),
                    *extra.get(language, ()),
                    *of_copies.get(language, ()),
                    *cells[0].flags,
                )
                for language, cells in by_language.items()
            },
        )


def _quote_folders(kernel: KernelRow, source_root: str) -> tuple[str, ...]:
    """Return the folders where copies look for quoted includes, from the build folder's root.

    A source that its copies include finds headers in its own folder by itself: only the header of registrations needs
    one. A generated source finds what is generated beside it first, then what is at the same place in the project.
    """
    if kernel.included and not kernel.header:
        return ()
    here = posixpath.dirname(kernel.shown_path) or "."
    beside = posixpath.dirname(posixpath.join(source_root, kernel.source)) or "."
    return (here, beside) if kernel.generated else (here,)
