"""The aliases of the override: from isa.toml to the levels of a table."""

from __future__ import annotations

from collections.abc import Iterator, Set

from ..model.aliases import Alias
from ..model.errors import ConfigError, did_you_mean
from ..processors.table import Table
from .config import Config


def aliases_of(config: Config, table: Table, elsewhere: Set[str]) -> tuple[Alias, ...]:
    """Return the aliases with levels as the table writes them, without those that mean levels of other architectures.

    Raises `ConfigError` for a level that no table has, and for the lowest one where it would be switched off.
    """
    return tuple(_aliases(config, table, elsewhere))


def _aliases(config: Config, table: Table, elsewhere: Set[str]) -> Iterator[Alias]:
    for alias in config.aliases:
        where = f"{config.shown}: override_aliases.{alias.variable}"
        if alias.always:
            always = _meaning(alias.always, table, elsewhere, where)
            if always:
                yield Alias(alias.variable, {}, always)
            continue
        values = {word: _meaning(said, table, elsewhere, f"{where}.{word}") for word, said in alias.values.items()}
        yield Alias(alias.variable, {word: said for word, said in values.items() if said})


def _meaning(said: str, table: Table, elsewhere: Set[str], where: str) -> str:
    """Return LEVEL or -LEVEL as the table writes it; "" for a level of another architecture."""
    sign, name = ("-", said[1:]) if said.startswith("-") else ("", said)
    found = next((level for level in table.names() if level.casefold() == name.casefold()), None)
    if found is None:
        if name.upper() in elsewhere:
            return ""
        raise ConfigError(f"unknown level {name!r}", where=where, remedy=did_you_mean(name, table.names()))
    if sign and found == table.base.name:
        raise ConfigError(
            f"{found} cannot be switched off",
            where=where,
            remedy="name a level above it, which every CPU can do without",
        )
    return sign + found
