"""What a CPU runs of a table's levels, computed from what it supports: no test writes down the CPU that it runs on."""

from collections.abc import Iterable
from pathlib import Path

from isagen.cpu import ask_permissions, detect
from isagen.table import load_table
from isagen.this_cpu import ThisMachine


def level_that_runs(supported: Iterable[str], asked: str, table: str = "x86") -> str:
    """Return the level that an override selects: the best supported one of `asked` and of those that it requires."""
    levels = load_table(table, Path())
    allowed = {asked, *(level.name for level in levels.below(asked))}
    return [name for name in levels.names() if name in allowed and name in supported][-1]


def lacks(features: Iterable[str], table: str = "x86") -> tuple[str, ...]:
    """Return those of the features that this CPU or OS lacks, as isagen's own detection says."""
    machine = ThisMachine()
    return ask_permissions(detect(load_table(table, Path()).features, machine), machine).missing(features)
