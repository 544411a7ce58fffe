"""Finds the levels that words name: in lists of levels, aliases of the override, and a packager's requirements."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from functools import partial

from ..model.errors import ConfigError, did_you_mean
from ..model.matrix import Alias
from ..model.plan import BASELINE, BUILT, DISABLED, Plan
from ..processors.table import Table
from .config import Config

REQUIRE = "Meson option isa_require"
OPTION = "Meson option isa_levels"
NATIVE = "native"
# Words that only NumPy's options cpu-baseline and cpu-dispatch have, with the remedy for each.
OF_NUMPY = {
    "max": "write all",
    "min": "name the levels, or write none for the baseline alone",
    "detect": "leave it out: the baseline is always what CFLAGS and CXXFLAGS turn on",
}


def select_levels(
    words: Iterable[str],
    table: Table,
    where: str,
    lowest_too: bool = True,
    native: Mapping[str, Collection[str]] | None = None,
) -> frozenset[str]:
    """Return the levels that `words` select, read from left to right.

    `all` switches on every level, and `none` switches off every level but the lowest. `NAME` or `+NAME` switches a
    level on, and `-NAME` switches it off; the name of another architecture's level selects nothing. The word `native`
    switches on the levels that the build machine supports; the argument `native` maps levels to the features that this
    machine lacks, and is None if the word is not allowed. An empty list, or one that starts with `-NAME`, starts from
    `all`. With `lowest_too`, the lowest level is always on; otherwise a list that starts with `NAME` starts from no
    level. Case is ignored. Raises `ConfigError` for an unknown or forbidden word, for both `NAME` and `-NAME`, and with
    `lowest_too` for `-NAME` of the lowest level.
    """
    tokens = level_words(words)
    lowered = [token.casefold() for token in tokens]
    if both := next((name for name in lowered if f"-{name}" in lowered), "").upper():
        raise ConfigError(f"{both} and -{both} contradict each other", where=where, remedy="leave one of them out")
    named = level_or_minus if lowest_too else partial(level_named, minus=True)
    keywords = ("all", "none", NATIVE) if where == OPTION else ("all", "none")
    selected = {table.lowest.name} if lowest_too else set()
    if not tokens or tokens[0].startswith("-"):
        selected = set(table.names())
    for token in tokens:
        if token.casefold() in ("all", "none"):
            selected = set(table.names()) if token.casefold() == "all" else {table.lowest.name}
        elif token.casefold() == NATIVE:
            if native is None:
                raise ConfigError(
                    f"{NATIVE} is a word of the {OPTION} alone",
                    where=where,
                    remedy="name levels: the project is built on different CPUs",
                )
            selected.update(name for name in table.names() if not native.get(name))
        elif token.casefold() in OF_NUMPY and token.upper() not in table.names():
            raise ConfigError(f"unknown level {token!r}", where=where, remedy=OF_NUMPY[token.casefold()])
        elif level := named(token, table, where, *keywords):
            selected = selected - {level[1:]} if level.startswith("-") else selected | {level}
    return frozenset(selected)


def level_named(word: str, table: Table, where: str, *keywords: str, minus: bool = False) -> str:
    """Return the table's spelling of the level `word`, whose case is ignored; "" for a level of another architecture.

    With `minus`, the word and the result may be -LEVEL. Raises `ConfigError` for an unknown level.
    """
    sign = "-" if minus and word.startswith("-") else ""
    name = word.removeprefix(sign)
    level = next((level for level in table.names() if level.casefold() == name.casefold()), "")
    if not level and name.upper() not in table.other_levels:
        remedy = did_you_mean(word, (*(sign + level for level in table.names()), *keywords))
        raise ConfigError(f"unknown level {word!r}", where=where, remedy=remedy)
    return level and sign + level


def level_or_minus(word: str, table: Table, where: str, *keywords: str) -> str:
    """Return the word LEVEL or -LEVEL as `level_named` does. Raises `ConfigError` for -LEVEL of the lowest level."""
    level = level_named(word, table, where, *keywords, minus=True)
    if level == f"-{table.lowest.name}":
        raise ConfigError(
            f"{table.lowest.name} cannot be switched off",
            where=where,
            remedy="it is what a CPU without any higher level runs; name a level above it",
        )
    return level


def aliases_of(config: Config, table: Table, override: str) -> tuple[Alias, ...]:
    """Return the aliases of the variable `override` with levels as the table spells them.

    A value that means a level of another architecture is left out, and so is an alias whose `always` means one. Raises
    `ConfigError` for an unknown level, if a value switches off the lowest level, and for the override as its own alias.
    """
    aliases = []
    for alias in config.aliases:
        where = f"{config.shown}: {config.aliases_key}.{alias.variable}"
        if alias.variable == override:
            raise ConfigError("is the override itself", where=where, remedy="name every variable once")
        values = {word: level_or_minus(level, table, f"{where}.{word}") for word, level in alias.values.items()}
        always = level_or_minus(alias.always, table, where) if alias.always else ""
        if always or not alias.always:
            aliases.append(Alias(alias.variable, {word: level for word, level in values.items() if level}, always))
    return tuple(aliases)


def check_required(plan: Plan, words: str, table: Table, limit: str) -> None:
    """Raise `ConfigError` if a level that `words` require is built for no kernel, or is unavailable for one.

    A required level of another architecture is an error, because it is never built. `limit` is the reason why only the
    lowest level is built, "" if every level is tried.
    """
    tokens = level_words([words])
    required = select_levels(tokens, table, REQUIRE) if tokens else frozenset()
    if limit and any(token.casefold() == "all" for token in tokens):
        raise _not_built("each level", limit)
    for number, level in enumerate(plan.levels):
        if level.name not in required:
            continue
        cells = [(kernel.source, kernel.cells[number]) for kernel in plan.kernels]
        # A level that the baseline contains counts as built: every CPU that runs the program has its features.
        missing = [(source, cell) for source, cell in cells if cell.by != BASELINE]
        if level.verdict != BUILT and len(missing) == len(cells):
            colon = "" if level.verdict == DISABLED else ":"
            raise _not_built(level.name, f"it is {level.verdict}{colon} {level.reason}")
        for source, cell in missing:
            if cell.verdict not in (BUILT, DISABLED):
                raise _not_built(level.name, f"for {source} it is {cell.verdict}: {cell.reason}")
    names = {name.casefold() for name in table.names()}
    for token in tokens:
        if token.casefold() not in names and token.upper() in table.other_levels:
            raise _not_built(token.upper(), limit or f"table {table.name} has no such level")


def _not_built(level: str, reason: str) -> ConfigError:
    return ConfigError(
        f"{level} is required, but not built: {reason}",
        where=REQUIRE,
        remedy="build it where it can be built, or require other levels",
    )


def level_words(words: Iterable[str]) -> list[str]:
    """Split lists of levels into words, without plus signs."""
    tokens = (token.removeprefix("+") for word in words for token in re.split(r"[\s,]+", word))
    return [token for token in tokens if token]
