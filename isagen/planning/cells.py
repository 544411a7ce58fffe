"""Leaves out copies that the verdicts of probes allow, but that nothing needs, and adds shims.

A copy that cannot register its functions, such as a Fortran one, gets a shim: a C source that registers them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from ..model.errors import ConfigError
from ..model.languages import takes_macros
from ..model.plan import BASELINE, BUILT, DISABLED, Cell, KernelRow, Verdict
from ..processors.table import Table


def lacking_levels(language: str, verdicts: Mapping[tuple[str, str], Verdict]) -> frozenset[str]:
    """Return the levels that the compiler of a `language` cannot build."""
    return frozenset(level for (level, one), verdict in verdicts.items() if one == language and not verdict.available)


def flags_of_copies(
    verdicts: Mapping[tuple[str, str], Verdict], table: Table
) -> dict[tuple[str, str], tuple[str, ...]]:
    """Return the flags of copies, by (level, language): the level's if it is available, and definitions of macros."""
    flags = {}
    for (level, language), verdict in verdicts.items():
        macros = table.defines(level, lacking_levels(language, verdicts))
        flags[level, language] = (*(verdict.flags if verdict.available else ()), *(f"-D{macro}" for macro in macros))
    return flags


def contained_levels(
    languages: Collection[str], verdicts: Mapping[tuple[str, str], Verdict], baseline: Collection[str]
) -> frozenset[str]:
    """Return the levels that need only features of the `baseline` in each of the `languages`.

    An unavailable verdict lists no features, so it excludes no level.
    """
    if not baseline:
        return frozenset()
    beyond = {
        level
        for (level, language), verdict in verdicts.items()
        if language in languages and not set(verdict.features) <= set(baseline)
    }
    return frozenset(level for level, language in verdicts if language in languages and level not in beyond)


def without_contained(cells: Sequence[Cell], levels: Collection[str]) -> tuple[Cell, ...]:
    """Return the `cells` of a kernel, lowest level first, without copies that no CPU would select.

    The baseline contains `levels`, so every CPU that runs the program supports them. Of those that the kernel has, only
    the highest and the lowest are built: a stub calls the lowest one if an override forbids all others.
    """
    contained = [cell for cell in cells if cell.verdict == BUILT and cell.level in levels]
    reason = f"the baseline contains it, and {contained[-1].level}, which runs in its place" if contained else ""
    left_out = {cell.level: Cell(cell.level, DISABLED, reason, by=BASELINE) for cell in contained[1:-1]}
    return tuple(left_out.get(cell.level, cell) for cell in cells)


def whole_levels(rows: Sequence[KernelRow]) -> list[KernelRow]:
    """Return the kernels of one module, built only at the levels at which all of them are built.

    Raises `ConfigError` for a source that is not built at the lowest level.
    """
    first_lacking: dict[str, tuple[str, Cell]] = {}
    for row in rows:
        for cell in row.cells:
            if cell.verdict != BUILT:
                first_lacking.setdefault(cell.level, (row.source, cell))

    lowest = rows[0].cells[0].level
    if lowest in first_lacking:
        source, lacking = first_lacking[lowest]
        raise ConfigError(
            f"a module is built as a whole, but its source {source} is not built at {lowest}",
            where=lacking.reason.removeprefix("by "),
            remedy=f"name {lowest} among its levels",
        )

    def whole(cell: Cell) -> Cell:
        if cell.verdict != BUILT or cell.level not in first_lacking:
            return cell
        source, lacking = first_lacking[cell.level]
        return replace(lacking, reason=f"its module is not built without {source}: {lacking.reason}")

    return [replace(row, cells=tuple(map(whole, row.cells))) for row in rows]


def with_shim(source: str, cell: Cell) -> Cell:
    """Return the `cell` of a kernel whose functions isa.toml registers, with a shim if its copy cannot use macros."""
    if not cell.copy or takes_macros(source):
        return cell
    name = cell.copy.rpartition(f".{cell.level}.")[0]
    return replace(cell, shim=f"{name}.stubs.{cell.level}.c")


def shim_of(cell: Cell, kernel: KernelRow, c_flags: tuple[str, ...]) -> Cell:
    """Return a cell whose copy is the shim of a kernel's `cell`. `c_flags` are the flags of a C copy at its level.

    If C cannot be built at the level, the shim is compiled without the level's flags. This is harmless, because a shim
    contains no code.
    """
    return replace(cell, copy=cell.shim, shim="", flags=cell.flags if kernel.language == "c" else c_flags)
