"""The table that a build takes its levels from, and what limits the build to the lowest of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ..model.plan import Limit
from ..planning.config import DEFAULT_TABLE, Config
from ..planning.limit import Maker, limit_of
from ..probe.compiler import Compiler
from ..probe.probe import bare_macros
from ..processors.registry import default_table
from ..processors.table import Table, load_table, other_levels


@dataclass(frozen=True)
class Chosen:
    """The table of a build, and the files that it was read from.

    `elsewhere` are the levels of other architectures, which a project may name. `reason` says why the table has the
    compiler's baseline alone, if it has.
    """

    table: Table
    files: tuple[Path, ...]
    elsewhere: frozenset[str]
    reason: str


def choose_table(config: Config, cpu_family: str) -> Chosen:
    """Return the table that isa.toml names; in the place of one for another architecture, that of the baseline."""
    folder, where = config.path.parent, f"{config.shown}: table"
    default = load_table(default_table(cpu_family), folder, where)
    reason = "" if len(default.levels) > 1 else f"isagen has no levels for {cpu_family}"
    if config.table == DEFAULT_TABLE:
        return Chosen(default, default.files, other_levels(), reason)
    named = load_table(config.table, folder, where)
    processor = named.features.processor
    if processor.is_for(cpu_family):
        return Chosen(named, named.files, frozenset(), reason if len(named.levels) == 1 else "")
    reason = f"table {named.name} is for {', '.join(processor.cpu_families)}, and this build is for {cpu_family}"
    lowest = replace(default, levels=default.levels[:1], override=named.override)
    return Chosen(lowest, (*named.files, *default.files), other_levels() | set(named.names()), reason)


def find_limit(system: str, compilers: Sequence[Compiler], no_table: str) -> Limit:
    """Return what limits a build; the compilers are asked for their macros."""
    makers = (Maker(one.name, one.known, bare_macros(one) or None) for one in compilers)
    return limit_of(system, makers, no_table)
