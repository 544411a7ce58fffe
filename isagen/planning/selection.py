"""Selecting levels by words: `all`, `none`, `NAME`, `-NAME`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Set

from ..model.errors import ConfigError, did_you_mean
from ..processors.table import Table


def select_levels(words: Iterable[str], table: Table, where: str, elsewhere: Set[str] = frozenset()) -> frozenset[str]:
    """Return the levels that `words` leave on, read from left to right.

    `all` switches every level on, `none` every level but the lowest off, `NAME` one on and `-NAME` one off. Nothing,
    or a list that starts with `-NAME`, starts from `all`. Words may hold several, parted by spaces or commas, in any
    case. The lowest level is always on: a stub must have something to call. Names of `elsewhere` are levels of other
    architectures, which mean nothing here. Raises `ConfigError` for an unknown name.
    """
    tokens = [token for word in words for token in re.split(r"[\s,]+", word) if token]
    names = {name.casefold(): name for name in table.names()}
    chosen = set(table.names()) if not tokens or tokens[0].startswith("-") else {table.base.name}
    for token in tokens:
        word = token.casefold()
        if word == "all":
            chosen = set(table.names())
        elif word == "none":
            chosen = {table.base.name}
        else:
            name = names.get(word.removeprefix("-"))
            if name is None and word.removeprefix("-").upper() in elsewhere:
                continue
            if name is None:
                raise ConfigError(
                    f"unknown level {token!r}",
                    where=where,
                    remedy=did_you_mean(token.removeprefix("-"), (*table.names(), "all", "none")),
                )
            if not word.startswith("-"):
                chosen.add(name)
            elif name == table.base.name:
                raise ConfigError(
                    f"{name} cannot be switched off",
                    where=where,
                    remedy="it is what a CPU without any higher level runs; leave it in",
                )
            else:
                chosen.discard(name)
    return frozenset(chosen)
