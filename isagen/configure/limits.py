"""The table of levels of a build, and the limit of a build to the lowest level."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass, replace
from pathlib import Path

from ..model.plan import Limit
from ..planning.config import DEFAULT_TABLE
from ..planning.limit import Maker, limit_of
from ..probe.compiler import Compiler
from ..processors.registry import default_table, family_under
from ..processors.table import Table, load_table, other_levels


@dataclass(frozen=True)
class ChosenTable:
    """The table of a build, and the files that it was read from.

    `other_levels` are the levels of other architectures: a project may name them. `reason` is not empty if the table
    has no level above the lowest.
    """

    table: Table
    files: tuple[Path, ...]
    other_levels: Set[str]
    reason: str


def choose_table(name: str, cpu_family: str, folder: Path, where: str) -> ChosenTable:
    """Return the table called `name`. If it is for another architecture, return this one's table with its lowest level.

    A `name` that is a path starts in `folder`. `where` names the setting in messages.
    """
    default = load_table(default_table(cpu_family), folder, where)
    reason = "" if len(default.levels) > 1 else f"isagen has no levels for {cpu_family}"
    if name == DEFAULT_TABLE:
        return ChosenTable(default, default.files, other_levels(), reason)
    named = load_table(name, folder, where)
    processor = named.features.processor
    if processor.is_for(cpu_family):
        return ChosenTable(named, named.files, frozenset(), reason if len(named.levels) == 1 else "")
    reason = f"table {named.name} is for {', '.join(processor.cpu_families)}, and this build is for {cpu_family}"
    lowest = replace(default, levels=default.levels[:1], override=named.override)
    return ChosenTable(lowest, (*named.files, *default.files), other_levels(named.names()), reason)


def find_limit(system: str | None, compilers: Sequence[Compiler], no_table: str) -> Limit:
    """Return the limit of a build, for which the compilers list their macros (`limit_of`)."""
    makers = (Maker(one.name, one.known, one.baseline_macros or None) for one in compilers if one.language != "fortran")
    return limit_of(system, makers, no_table)


def family_of(compilers: Iterable[Compiler], otherwise: str) -> str:
    """Return Meson's name of the architecture that `compilers` make code for; the name `otherwise` if it is unknown.

    Arguments may choose another than Meson names: with -m32, x86-64 becomes x86.
    """
    return next(filter(None, (family_under(compiler.baseline_macros) for compiler in compilers)), otherwise)


def limits_of(compiler: Compiler, table: str, folder: Path, where: str) -> tuple[ChosenTable, Limit]:
    """Return the table and the limit of a build with `compiler`; `folder` and `where` are those of `choose_table`.

    The compiler's macros determine the architecture.
    """
    family = family_of([compiler], compiler.machine or "the processor of this compiler")
    chosen = choose_table(table, family, folder, where)
    return chosen, find_limit(None, [compiler], chosen.reason)
