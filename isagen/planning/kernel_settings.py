"""The settings of single kernels in isa.toml: which paths and patterns are for a kernel, and which of them counts."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

from ..model.errors import ConfigError, did_you_mean
from .config import Config

# What stands for other text in a pattern: `**/` for any folders, also for none; `*` and `?` stay in a folder.
WILDCARDS = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
TOKEN = re.compile(r"\*\*/|\*\*|\*|\?")


@dataclass(frozen=True)
class Settings:
    """What isa.toml says of one kernel; `levels_where` and `args_where` name the keys that say it."""

    levels: tuple[str, ...] | None = None
    args: tuple[str, ...] = ()
    header: str = ""
    register: Mapping[str, str] = field(default_factory=dict)
    levels_where: str = ""
    args_where: str = ""


def settings_of(source: str, config: Config) -> Settings:
    """Return a kernel's settings: each from the entry of its own path, or else from the last pattern that has it."""
    keys = [key for key in config.kernels if key != source and matches(key, source)]
    keys += [source] if source in config.kernels else []
    found = Settings()
    for key in keys:
        own, where = config.kernels[key], f"{config.shown}: kernels.{key!r}"
        found = Settings(
            levels=found.levels if own.levels is None else own.levels,
            args=found.args if own.args is None else own.args,
            header=own.header or found.header,
            register=own.register or found.register,
            levels_where=found.levels_where if own.levels is None else f"{where}.levels",
            args_where=found.args_where if own.args is None else f"{where}.args",
        )
    return found


def matches(pattern: str, source: str) -> bool:
    """Return whether the path of a kernel is what a pattern stands for."""
    return _expression(pattern).fullmatch(source) is not None


@cache
def _expression(pattern: str) -> re.Pattern[str]:
    place, parts = 0, []
    for token in TOKEN.finditer(pattern):
        parts += [re.escape(pattern[place : token.start()]), WILDCARDS[token[0]]]
        place = token.end()
    return re.compile("".join([*parts, re.escape(pattern[place:])]))


def check_keys(config: Config, kernels: Sequence[str]) -> None:
    """Raise `ConfigError` for a path or pattern of isa.toml that is for none of the kernels."""
    for key in config.kernels:
        if key in kernels or any(matches(key, source) for source in kernels):
            continue
        where = f"{config.shown}: kernels"
        if TOKEN.search(key):
            raise ConfigError(
                f"the pattern {key!r} matches no kernel",
                where=where,
                remedy="paths start at the project's root; * stays in a folder, and **/ stands for any folders; "
                f"kernels: {', '.join(kernels[:5])}{', ...' if len(kernels) > 5 else ''}",
            )
        raise ConfigError(
            f"{key!r} is not among the kernels",
            where=where,
            remedy=did_you_mean(key, kernels) + " (paths start at the project's root)",
        )
