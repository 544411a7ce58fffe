"""Planning: the levels that each kernel is built at, with their flags, and the reasons for the others.

It is pure: no input or output.
"""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ..model.errors import ConfigError, KernelError
from ..model.files import content_digest
from ..model.languages import language_of
from ..model.plan import BUILT, DISABLED, UNAVAILABLE, Cell, KernelRow, LevelRow, Plan, Unit, Verdict
from ..processors.table import Level, Table
from .config import Config
from .contained import contained_levels, without_contained
from .kernel_settings import Settings, check_keys, settings_of
from .levels import aliases_of, select_levels
from .modules import check_module, whole_levels
from .shims import check_register, shim_of, unsealed, with_shim

# Characters that a path must not contain, each with the end of the message "has a ...". Ninja cannot escape a '|'.
BAD_CHARACTERS = (
    ("\\", "backslash in its path, which Meson takes for a slash"),
    ("|", "'|' in its path, which ninja takes for a separator"),
)


@dataclass(frozen=True)
class CopyOptions:
    """Options of copies and shims at all levels: the option before an include folder, and `flags` by language."""

    include_option: str = "-iquote"
    flags: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def quote_option(self, language: str) -> str:
        """Return the option that adds a folder for quoted includes. That of some compilers is for all includes."""
        return "-I" if language == "fortran" else self.include_option


def make_plan(
    *,
    config: Config,
    table: Table,
    kernels: Sequence[str],
    option_levels: str,
    verdicts: Mapping[tuple[str, str], Verdict],
    source_root: str,
    copy_options: CopyOptions,
    generated: Mapping[str, str] | None = None,
    kernel_set: str = "",
    other_kernels: Sequence[str] = (),
    sealed: bool = True,
    module: str = "",
    baseline: Collection[str] = (),
) -> Plan:
    """Return the plan of `kernels`, which are paths from the project's root.

    `option_levels` is the Meson option isa_levels. `verdicts` are the probe's, by (level, language). `source_root` is
    the path of the project's root from the build folder's root. `generated` maps each kernel that the build generates
    to its path from there. `other_kernels` are the kernels of other sets. `module` is the extension module that the
    kernels form, if any. `baseline` are the features that code without a level's flags may use. Raises `ConfigError`
    and `KernelError`.
    """
    check_module(module, kernels)
    check_kernels(kernels, config, other_kernels)
    names = copy_names(kernels, kernel_set)
    project_levels = select_levels(config.levels, table, f"{config.shown}: levels")
    packager_levels = select_levels((option_levels,), table, "Meson option isa_levels")
    generated = generated or {}
    defines = {level: tuple(f"-D{macro}" for macro in table.defines(level)) for level in table.names()}
    rows = []
    for source in kernels:
        language, name = language_of(source), names[source]
        settings = settings_of(source, config)
        check_register(source, settings, config.shown)
        disabled = _disabled(table, config, settings, project_levels, packager_levels)
        if not sealed:
            disabled |= unsealed(source, table)
        cells = tuple(
            _cell(level, disabled.get(level, ""), verdicts[level, language], (*defines[level], *settings.args), name)
            for level in table.names()
        )
        cells = tuple(with_shim(source, settings, cell) for cell in cells)
        if cells[0].verdict == UNAVAILABLE:
            raise ConfigError(
                f"{table.lowest.name} cannot be built for {source}: {cells[0].reason}",
                where=f"table {table.name}",
                remedy="use a compiler that has it, or another table; kernels for higher levels alone name these in "
                "isa.toml",
            )
        rows.append(
            KernelRow(
                source=source,
                shown_path=generated.get(source, posixpath.join(source_root, source)),
                language=language,
                args=settings.args,
                cells=cells,
                generated=source in generated,
                header=settings.header,
                registers=dict(settings.register),
            )
        )
    rows = whole_levels(rows) if module else rows
    contained = contained_levels({row.language for row in rows}, verdicts, baseline)
    if contained:
        rows = [replace(row, cells=without_contained(row.cells, contained)) for row in rows]
    return Plan(
        table=table.name,
        override=table.override if config.override is None else config.override,
        levels=tuple(_level_rows(table, rows, verdicts)),
        kernels=tuple(rows),
        units=tuple(_units(rows, table, copy_options, source_root, kernel_set, verdicts)),
        kernel_set=kernel_set,
        aliases=aliases_of(config, table),
        module=module,
        withhold=config.withhold,
    )


def _disabled(
    table: Table,
    config: Config,
    settings: Settings,
    project_levels: frozenset[str],
    packager_levels: frozenset[str],
) -> dict[str, str]:
    """Return the levels that project or packager switched off for one kernel, each with the setting that did so."""
    disabled = {}
    if settings.levels is not None:
        selected = select_levels(settings.levels, table, settings.levels_where, lowest_too=False)
        disabled = {level: f"by {settings.levels_where}" for level in table.names() if level not in selected}
    disabled |= {level: "by the Meson option isa_levels" for level in table.names() if level not in packager_levels}
    return disabled | {level: f"by {config.shown}: levels" for level in table.names() if level not in project_levels}


def _cell(level: str, disabled_by: str, verdict: Verdict, args: tuple[str, ...], name: str) -> Cell:
    """Return the cell at one level of a kernel, whose copies are called after `name`."""
    if disabled_by:
        return Cell(level, DISABLED, disabled_by)
    if not verdict.available:
        return Cell(level, UNAVAILABLE, verdict.reason)
    suffix = posixpath.splitext(name)[1]
    return Cell(level, BUILT, verdict.reason, (*verdict.flags, *args), f"{name}.{level}{suffix}")


def check_kernels(kernels: Sequence[str], config: Config, other_kernels: Sequence[str] = ()) -> None:
    """Raise `KernelError` for a kernel that cannot be built, or `ConfigError` for settings that apply to no kernel.

    `other_kernels` are the kernels of other sets.
    """
    for source in kernels:
        if source.endswith(".pyx"):
            raise KernelError(
                "is Cython: its functions need the state of their Python module, so stubs cannot call them",
                where=f"isa_kernels: {source}",
                remedy="dispatch the module as a whole: isa_module = 'NAME', or 'module': 'NAME' in isa_sets",
            )
        language_of(source)
    for source, count in Counter(kernels).items():
        if count > 1:
            raise KernelError("is listed twice", where=f"isa_kernels: {source}", remedy="name every kernel once")
        if re.search(r"[\n\r]", source):
            raise KernelError(
                "has a line break in its name", where=f"isa_kernels: {source!r}", remedy="rename the file"
            )
        for character, reason in BAD_CHARACTERS:
            if character in source:
                raise KernelError(f"has a {reason}", where=f"isa_kernels: {source}", remedy="rename the file or folder")
    check_keys(config, (*kernels, *other_kernels))


def copy_names(kernels: Sequence[str], kernel_set: str = "") -> dict[str, str]:
    """Return a unique name for the copies of each kernel.

    It is the kernel's file name, with as many of the folders above it in front as distinguish it from other kernels. It
    starts with the set's name, because the copies of all sets are in one folder.
    """
    start = f"{kernel_set}." if kernel_set else ""
    names = {source: posixpath.basename(source) for source in kernels}
    depth = 1
    while True:
        # Names must differ in more than case: some file systems ignore it.
        counts = Counter(name.casefold() for name in names.values())
        clashing = [source for source, name in names.items() if counts[name.casefold()] > 1]
        if not clashing:
            return {source: start + name for source, name in names.items()}
        depth += 1
        for source in clashing:
            parts = source.split("/")
            names[source] = "_".join(parts[-depth:])
            if depth > len(parts):  # folders do not make a_b.cpp and a/b.cpp unique
                names[source] = f"{kernels.index(source)}_{names[source]}"


def _level_rows(
    table: Table, kernels: Sequence[KernelRow], verdicts: Mapping[tuple[str, str], Verdict]
) -> Iterable[LevelRow]:
    languages = dict.fromkeys(kernel.language for kernel in kernels)
    features_of: dict[str, tuple[str, ...]] = {}
    for index, level in enumerate(table.levels):
        cells = [kernel.cells[index] for kernel in kernels]
        # Without kernels, only the lowest level counts as built.
        without_kernels = Cell(level.name, DISABLED, "there are no kernels") if index else Cell(level.name, BUILT, "")
        best = min(cells, key=lambda cell: (BUILT, UNAVAILABLE, DISABLED).index(cell.verdict), default=without_kernels)
        by_language = {language: verdicts[level.name, language] for language in languages}
        needed = set(table.required_features(level.name))
        needed |= {name for verdict in by_language.values() for name in verdict.features}
        features = features_of[level.name] = tuple(name for name in table.features.features if name in needed)
        below = tuple(lower.name for lower in table.below(level.name))
        below_features = [name for lower in below for name in features_of[lower]]
        yield LevelRow(
            name=level.name,
            rank=level.rank,
            verdict=best.verdict,
            reason=best.reason,
            below=below,
            features=features,
            flags={language: verdict.flags for language, verdict in by_language.items()},
            macros=table.defines(level.name),
            dropped={language: verdict.dropped for language, verdict in by_language.items() if verdict.dropped},
            added=_added(table, level, by_language.values(), below_features),
        )


def _added(table: Table, level: Level, verdicts: Iterable[Verdict], below_features: Sequence[str]) -> tuple[str, ...]:
    """Return the features that only a level's flags turn on: neither the table nor a level below it requires them."""
    features = {name for verdict in verdicts if verdict.flags for name in verdict.features}
    added = table.features.not_implied(features, (*table.required_features(level.name), *below_features))
    return tuple(name for name in table.features.features if name in added)


def _units(
    kernels: Sequence[KernelRow],
    table: Table,
    copy_options: CopyOptions,
    source_root: str,
    kernel_set: str,
    verdicts: Mapping[tuple[str, str], Verdict],
) -> Iterable[Unit]:
    """Group the copies by level, by folders for quoted includes, and by the kernel's own arguments."""
    groups: dict[tuple[str, tuple[str, ...], tuple[str, ...]], dict[str, list[Cell]]] = {}
    for number, level in enumerate(table.names()):
        built = [(kernel, kernel.cells[number]) for kernel in kernels if kernel.cells[number].copy]
        copies = [(kernel, kernel.language, cell) for kernel, cell in built]
        # Shims come last: all C of a unit gets the arguments of its first copy in C, which a kernel's should be.
        copies += [(kernel, "c", shim_of(cell, kernel, verdicts, table)) for kernel, cell in built if cell.shim]
        for kernel, language, cell in copies:
            key = (level, _quote_folders(kernel, source_root), kernel.args)
            groups.setdefault(key, {}).setdefault(language, []).append(cell)
    for (level, folders, args), by_language in groups.items():
        # The name depends on nothing but the group: if other kernels get other arguments, it is not compiled again.
        key_words = (*([f"set {kernel_set}"] if kernel_set else []), *folders, *args)
        digest = content_digest("\0".join(key_words).encode())[:8]
        yield Unit(
            name=f"isa_{level}__{digest}" if key_words else f"isa_{level}",  # short: ninja reads it for each object
            level=level,
            copies=tuple(cell.copy for cells in by_language.values() for cell in cells),
            args={
                language: (
                    *(copy_options.quote_option(language) + folder for folder in folders),
                    *copy_options.flags.get(language, ()),
                    *cells[0].flags,
                )
                for language, cells in by_language.items()
            },
        )


def _quote_folders(kernel: KernelRow, source_root: str) -> tuple[str, ...]:
    """Return the folders where copies look for quoted includes, from the build folder's root.

    A copy that includes its source needs none, as compilers look beside the source, unless the copy itself includes a
    header for registrations. A generated source looks first in its own folder of the build, then in the project's.
    """
    if kernel.included and not kernel.header:
        return ()
    own = posixpath.dirname(kernel.shown_path) or "."
    in_project = posixpath.dirname(posixpath.join(source_root, kernel.source)) or "."
    return (own, in_project) if kernel.generated else (own,)
