"""The Meson option isa_require: levels without which a packager wants no build."""

from __future__ import annotations

import re
from collections.abc import Set

from ..model.errors import ConfigError
from ..model.plan import BUILT, DISABLED, Plan
from ..processors.table import Table
from .contained import REASON as CONTAINED
from .selection import select_levels

WHERE = "Meson option isa_require"


def check_required(plan: Plan, words: str, table: Table, elsewhere: Set[str], limit: str) -> None:
    """Raise `ConfigError` for a level that `words` require and that is not built for a kernel, unless isa.toml says so.

    The words are those of `select_levels`; no words require nothing. Names of `elsewhere` are levels of other
    architectures, which are never built. `limit` is the reason where there is only the lowest level.
    """
    tokens = [token for token in re.split(r"[\s,]+", words) if token]
    if not tokens:
        return
    required = select_levels(tokens, table, WHERE, elsewhere)
    for number, level in enumerate(plan.levels):
        if level.name not in required:
            continue
        cells = [(kernel.source, kernel.cells[number]) for kernel in plan.kernels]
        # What the baseline contains, every CPU has that runs the program.
        contained = [source for source, cell in cells if cell.reason.startswith(CONTAINED)]
        cells = [(source, cell) for source, cell in cells if source not in contained]
        if level.verdict != BUILT and not contained:
            by = "" if level.verdict == DISABLED else ":"
            raise _missing(level.name, f"it is {level.verdict}{by} {level.reason}")
        for source, cell in cells:
            if cell.verdict not in (BUILT, DISABLED):
                raise _missing(level.name, f"for {source} it is {cell.verdict}: {cell.reason}")
    names = {name.casefold() for name in table.names()}
    for token in tokens:
        if token.casefold() not in names and token.upper() in elsewhere:
            raise _missing(token.upper(), limit or f"table {table.name} has no such level")


def _missing(level: str, reason: str) -> ConfigError:
    return ConfigError(
        f"{level} is required, but not built: {reason}",
        where=WHERE,
        remedy="build it where it can be built, or require other levels",
    )
