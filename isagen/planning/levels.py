"""Levels by name: in lists of words, in aliases of the override, and in a packager's requirements."""

from __future__ import annotations

import re
from collections.abc import Iterable, Set

from ..model.aliases import Alias
from ..model.errors import ConfigError, did_you_mean
from ..model.plan import BUILT, DISABLED, Plan
from ..processors.table import Table
from .config import Config
from .contained import REASON as CONTAINED

REQUIRE = "Meson option isa_require"


def select_levels(words: Iterable[str], table: Table, where: str, elsewhere: Set[str] = frozenset()) -> frozenset[str]:
    """Return the levels that `words` select, read from left to right.

    `all` switches every level on, `none` every level but the lowest off, `NAME` one on and `-NAME` one off. No word, or
    a list that starts with `-NAME`, starts from `all`. A word may contain several, separated by spaces or commas, in
    any case. The lowest level is always on: a stub must have something to call. Names of `elsewhere` are levels of
    other architectures, which are ignored. Raises `ConfigError` for an unknown name.
    """
    tokens = _tokens(words)
    chosen = set(table.names()) if not tokens or tokens[0].startswith("-") else {table.base.name}
    for token in tokens:
        if token.casefold() == "all":
            chosen = set(table.names())
        elif token.casefold() == "none":
            chosen = {table.base.name}
        else:
            level = _level(token, table, where, elsewhere, "all", "none")
            chosen = chosen - {level} if token.startswith("-") else chosen | {level} - {""}
    return frozenset(chosen)


def aliases_of(config: Config, table: Table, elsewhere: Set[str]) -> tuple[Alias, ...]:
    """Return the aliases with levels as the table writes them, without those of levels of other architectures.

    Raises `ConfigError` for a level that no table has, and for the lowest one where it would be switched off.
    """

    def meaning(word: str, where: str) -> str:
        level = _level(word, table, where, elsewhere)
        return "-" + level if level and word.startswith("-") else level

    found = []
    for alias in config.aliases:
        where = f"{config.shown}: override_aliases.{alias.variable}"
        values = {word: meaning(level, f"{where}.{word}") for word, level in alias.values.items()}
        always = meaning(alias.always, where) if alias.always else ""
        if always or not alias.always:
            found.append(Alias(alias.variable, {word: level for word, level in values.items() if level}, always))
    return tuple(found)


def check_required(plan: Plan, words: str, table: Table, elsewhere: Set[str], limit: str) -> None:
    """Raise `ConfigError` for a level that `words` require and that is not built for a kernel, unless isa.toml says so.

    The words are those of `select_levels`; no words require nothing. Names of `elsewhere` are levels of other
    architectures, which are never built. `limit` is the reason where there is only the lowest level.
    """
    tokens = _tokens([words])
    required = select_levels(tokens, table, REQUIRE, elsewhere) if tokens else frozenset()
    for number, level in enumerate(plan.levels):
        if level.name not in required:
            continue
        cells = [(kernel.source, kernel.cells[number]) for kernel in plan.kernels]
        # Every CPU that runs the program has the baseline's features.
        missing = [(source, cell) for source, cell in cells if not cell.reason.startswith(CONTAINED)]
        if level.verdict != BUILT and len(missing) == len(cells):
            by = "" if level.verdict == DISABLED else ":"
            raise _not_built(level.name, f"it is {level.verdict}{by} {level.reason}")
        for source, cell in missing:
            if cell.verdict not in (BUILT, DISABLED):
                raise _not_built(level.name, f"for {source} it is {cell.verdict}: {cell.reason}")
    names = {name.casefold() for name in table.names()}
    for token in tokens:
        if token.casefold() not in names and token.upper() in elsewhere:
            raise _not_built(token.upper(), limit or f"table {table.name} has no such level")


def _not_built(level: str, reason: str) -> ConfigError:
    return ConfigError(
        f"{level} is required, but not built: {reason}",
        where=REQUIRE,
        remedy="build it where it can be built, or require other levels",
    )


def _tokens(words: Iterable[str]) -> list[str]:
    return [token for word in words for token in re.split(r"[\s,]+", word) if token]


def _level(word: str, table: Table, where: str, elsewhere: Set[str], *others: str) -> str:
    """Return the level of `LEVEL` or `-LEVEL` as the table writes it; "" for a level of another architecture.

    `others` are further words that are valid.
    """
    name = word.removeprefix("-")
    found = next((level for level in table.names() if level.casefold() == name.casefold()), "")
    if not found and name.upper() not in elsewhere:
        raise ConfigError(f"unknown level {word!r}", where=where, remedy=did_you_mean(name, (*table.names(), *others)))
    if word.startswith("-") and found == table.base.name:
        raise ConfigError(
            f"{found} cannot be switched off",
            where=where,
            remedy="it is what a CPU without any higher level runs; name a level above it",
        )
    return found
