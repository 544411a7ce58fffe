"""The table that a build takes its levels from, and what limits the build to the lowest of them."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass, replace
from pathlib import Path

from ..model.plan import Limit
from ..planning.config import DEFAULT_TABLE
from ..planning.limit import Maker, limit_of
from ..probe.compiler import Compiler
from ..processors.registry import default_table, family_under
from ..processors.table import Table, load_table, other_levels


@dataclass(frozen=True)
class Chosen:
    """The table of a build, and the files that it was read from.

    `elsewhere` are the levels of other architectures, which a project may name. `reason` says why the table has only
    the compiler's baseline, if so.
    """

    table: Table
    files: tuple[Path, ...]
    elsewhere: Set[str]
    reason: str


def choose_table(name: str, cpu_family: str, folder: Path, where: str) -> Chosen:
    """Return the table called `name`; in the place of one for another architecture, that of the baseline.

    `folder` is where paths of tables start, and `where` names the place that names the table.
    """
    default = load_table(default_table(cpu_family), folder, where)
    reason = "" if len(default.levels) > 1 else f"isagen has no levels for {cpu_family}"
    if name == DEFAULT_TABLE:
        return Chosen(default, default.files, other_levels(), reason)
    named = load_table(name, folder, where)
    processor = named.features.processor
    if processor.is_for(cpu_family):
        return Chosen(named, named.files, frozenset(), reason if len(named.levels) == 1 else "")
    reason = f"table {named.name} is for {', '.join(processor.cpu_families)}, and this build is for {cpu_family}"
    lowest = replace(default, levels=default.levels[:1], override=named.override)
    return Chosen(lowest, (*named.files, *default.files), other_levels(named.names()), reason)


def find_limit(system: str | None, compilers: Sequence[Compiler], no_table: str) -> Limit:
    """Return what limits a build; the compilers are asked for their macros.

    There is no `system` where only compilers are asked about.
    """
    makers = (Maker(one.name, one.known, one.bare_macros or None) for one in compilers if one.language != "fortran")
    return limit_of(system, makers, no_table)


def limits_of(compiler: Compiler, table: str, folder: Path, where: str) -> tuple[Chosen, Limit]:
    """Return the table that a build with `compiler` takes its levels from, and what limits it, as its macros tell.

    `folder` and `where` are those of `choose_table`.
    """
    family = family_under(compiler.bare_macros) or compiler.machine or "the processor of this compiler"
    chosen = choose_table(table, family, folder, where)
    return chosen, find_limit(None, [compiler], chosen.reason)
