"""Planning: the levels at which each kernel is built, with their flags, and the reasons why others are not built."""

from __future__ import annotations

import posixpath
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ..model.errors import ConfigError
from ..model.files import content_digest
from ..model.languages import language_of, takes_macros
from ..model.matrix import LevelRow
from ..model.plan import BUILT, DISABLED, ENTRY, UNAVAILABLE, Cell, KernelRow, Plan, Unit, Verdict
from ..processors.table import Table
from .cells import (
    contained_levels,
    flags_of_copies,
    lacking_levels,
    shim_of,
    whole_levels,
    with_shim,
    without_contained,
)
from .config import Config
from .kernels import Settings, check_kernels, copy_names, settings_of
from .levels import OPTION, aliases_of, level_words, select_levels

UNSEALED = "by the Meson option isa_seal: unsealed, the linker would use the lowest level's functions for all levels"
# The reason for a level that isa.toml disables for every kernel, if different entries of isa.toml disable it.
NO_SOURCE = "by isa.toml: no kernel source is for it"


@dataclass(frozen=True)
class CopyOptions:
    """Options of copies and shims at all levels: `flags` by language, and `include_option`, which precedes a folder."""

    include_option: str = "-iquote"
    flags: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


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
    native: Mapping[str, Sequence[str]] | None = None,
) -> Plan:
    """Return the plan of `kernels`, which are paths from the project's root.

    `verdicts` are the probe's, by (level, language). `source_root` is the path of the project's root from the build
    folder's root. `generated` maps each kernel that the build generates to its path from the build folder's root.
    `sealed` is false if objects need a seal and get none. `module` is "" for kernels behind stubs. `baseline` are the
    features that code without a level's flags may use. `native`, if isa_levels contains this word, maps each level to
    features that the build machine lacks. Raises `ConfigError` and `KernelError`.
    """
    check_kernels(kernels, config, other_kernels, module)
    names, generated = copy_names(kernels, kernel_set), generated or {}
    by_project = _disabled(config.levels, table, f"{config.shown}: {config.levels_key}")
    disabled = _by_packager(option_levels, table, native) | by_project
    flags = flags_of_copies(verdicts, table)
    settings = {source: settings_of(source, config) for source in kernels}
    rows = [
        KernelRow(
            source=source,
            shown_path=generated.get(source, posixpath.join(source_root, source)),
            language=language_of(source),
            args=own.args or (),
            cells=_cells(source, names[source], own, table, verdicts, flags, disabled, sealed),
            generated=source in generated,
            header=own.header,
            registers=own.register,
        )
        for source, own in settings.items()
    ]
    rows = whole_levels(rows) if module else rows
    if contained := contained_levels({row.language for row in rows}, verdicts, baseline):
        rows = [replace(row, cells=without_contained(row.cells, contained)) for row in rows]
    override = table.override if config.override is None else config.override
    return Plan(
        table=table.name,
        override=override,
        levels=tuple(_level_rows(table, rows, verdicts)),
        kernels=tuple(rows),
        units=tuple(_units(rows, table, copy_options, source_root, kernel_set, flags)),
        kernel_set=kernel_set,
        aliases=aliases_of(config, table, override),
        module=module,
        withhold=config.withhold,
    )


def _cells(
    source: str,
    name: str,
    settings: Settings,
    table: Table,
    verdicts: Mapping[tuple[str, str], Verdict],
    flags: Mapping[tuple[str, str], tuple[str, ...]],
    disabled: Mapping[str, Cell],
    sealed: bool,
) -> tuple[Cell, ...]:
    """Return the cells of one kernel, lowest level first; `disabled` are those that are disabled for every kernel."""
    language, off = language_of(source), dict(disabled)
    if settings.levels is not None:
        off = _disabled(settings.levels, table, settings.keys["levels"], lowest_too=False, by=ENTRY) | off
    if not sealed and not takes_macros(source):
        # Unlike C and C++ functions, these cannot be static: without the seal, the linker takes one level's for all.
        off |= {level: Cell(level, DISABLED, UNSEALED) for level in table.names()[1:]}
    args = settings.args or ()
    cells = [
        off.get(level) or _cell(level, verdicts[level, language], (*flags[level, language], *args), name)
        for level in table.names()
    ]
    if cells[0].verdict == UNAVAILABLE:
        raise ConfigError(
            f"{table.lowest.name} cannot be built for {source}: {cells[0].reason}",
            where=f"table {table.name}",
            remedy="use a compiler that has it, or another table; if the kernel is for higher levels only, name "
            "these in isa.toml",
        )
    return tuple(with_shim(source, cell) for cell in cells) if settings.register else tuple(cells)


def _disabled(words: Iterable[str], table: Table, where: str, lowest_too: bool = True, by: str = "") -> dict[str, Cell]:
    selected = select_levels(words, table, where, lowest_too)
    return {level: Cell(level, DISABLED, f"by {where}", by=by) for level in table.names() if level not in selected}


def _by_packager(words: str, table: Table, native: Mapping[str, Sequence[str]] | None) -> dict[str, Cell]:
    selected = select_levels((words,), table, OPTION, native=native)
    why = {level: f": this CPU or OS lacks {' '.join(names)}" for level, names in (native or {}).items() if names}
    named, own = ({name.upper() for name in names} for names in (level_words((words,)), table.names()))
    if named <= table.other_levels - own:
        why = dict.fromkeys(table.names(), f": none of the levels named there is in table {table.name}")
    off = (level for level in table.names() if level not in selected)
    return {level: Cell(level, DISABLED, f"by the {OPTION}{why.get(level, '')}") for level in off}


def _cell(level: str, verdict: Verdict, flags: tuple[str, ...], name: str) -> Cell:
    """The copy of a kernel named a.cpp is a.cpp.AVX2.cpp at AVX2."""
    if not verdict.available:
        return Cell(level, UNAVAILABLE, verdict.reason)
    suffix = posixpath.splitext(name)[1]
    return Cell(level, BUILT, verdict.reason, flags, f"{name}.{level}{suffix}")


def _level_rows(
    table: Table, kernels: Sequence[KernelRow], verdicts: Mapping[tuple[str, str], Verdict]
) -> Iterable[LevelRow]:
    """Yield the row of each level: the best verdict of a kernel at this level, the flags by language, the features."""
    languages = dict.fromkeys(kernel.language for kernel in kernels)
    lacking = (
        frozenset.intersection(*(lacking_levels(one, verdicts) for one in languages)) if languages else frozenset()
    )
    features_of: dict[str, tuple[str, ...]] = {}
    for index, level in enumerate(table.levels):
        cells = [kernel.cells[index] for kernel in kernels]
        # Without kernels, only the lowest level counts as built.
        without_kernels = Cell(level.name, DISABLED, "there are no kernels") if index else Cell(level.name, BUILT, "")
        best = min(cells, key=lambda cell: (BUILT, UNAVAILABLE, DISABLED).index(cell.verdict), default=without_kernels)
        reason = best.reason
        if best.verdict == DISABLED and len({cell.reason for cell in cells}) > 1:
            reason = next((cell.reason for cell in cells if cell.by != ENTRY), NO_SOURCE)
        by_language = {language: verdicts[level.name, language] for language in languages}
        needed = set(table.required_features(level.name))
        needed |= {name for verdict in by_language.values() for name in verdict.features}
        features = features_of[level.name] = tuple(name for name in table.features.features if name in needed)
        turned_on = {name for verdict in by_language.values() if verdict.flags for name in verdict.features}
        given = (*table.required_features(level.name), *(name for lower in level.below for name in features_of[lower]))
        added = table.features.not_implied(turned_on, given)
        yield LevelRow(
            name=level.name,
            rank=level.rank,
            verdict=best.verdict,
            reason=reason,
            requires=level.below,
            features=features,
            flags={language: verdict.flags for language, verdict in by_language.items()},
            macros=table.defines(level.name, lacking),
            dropped={language: verdict.dropped for language, verdict in by_language.items() if verdict.dropped},
            added=tuple(name for name in features if name in added),
        )


def _units(
    kernels: Sequence[KernelRow],
    table: Table,
    copy_options: CopyOptions,
    source_root: str,
    kernel_set: str,
    flags: Mapping[tuple[str, str], tuple[str, ...]],
) -> Iterable[Unit]:
    """Yield the units. The copies in a unit share a level, `args` of isa.toml, and folders for quoted includes."""
    groups: dict[tuple[str, tuple[str, ...], tuple[str, ...]], dict[str, list[Cell]]] = {}
    for number, level in enumerate(table.names()):
        built = [(kernel, kernel.cells[number]) for kernel in kernels if kernel.cells[number].copy]
        copies = [(kernel, kernel.language, cell) for kernel, cell in built]
        # All C copies of a unit get the flags of the first one. Shims come last: without code, they can have any flags.
        copies += [(kernel, "c", shim_of(cell, kernel, flags[level, "c"])) for kernel, cell in built if cell.shim]
        for kernel, language, cell in copies:
            key = (level, _quote_folders(kernel, source_root), kernel.args)
            groups.setdefault(key, {}).setdefault(language, []).append(cell)
    for (level, folders, args), by_language in groups.items():
        # The unit's name depends only on its group, so that new arguments of other kernels do not compile it again.
        key_words = (*([f"set {kernel_set}"] if kernel_set else []), *folders, *args)
        digest = content_digest("\0".join(key_words).encode())[:8]
        yield Unit(
            name=f"isa_{level}__{digest}" if key_words else f"isa_{level}",  # short: ninja reads it for each object
            level=level,
            copies=tuple(cell.copy for cells in by_language.values() for cell in cells),
            args={
                language: (
                    *(("-I" if language == "fortran" else copy_options.include_option) + folder for folder in folders),
                    *copy_options.flags.get(language, ()),
                    *cells[0].flags,
                )
                for language, cells in by_language.items()
            },
        )


def _quote_folders(kernel: KernelRow, source_root: str) -> tuple[str, ...]:
    """Return the folders where copies look for quoted includes, from the build folder's root.

    Compilers search the folder of the file that contains an #include. So a copy that includes its source needs no
    folder, unless the copy itself includes a header for registrations.
    """
    if kernel.included and not kernel.header:
        return ()
    own = posixpath.dirname(kernel.shown_path) or "."
    in_project = posixpath.dirname(posixpath.join(source_root, kernel.source)) or "."
    return (own, in_project) if kernel.generated else (own,)
