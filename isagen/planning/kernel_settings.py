"""The settings of single kernels in isa.toml: which paths and patterns match a kernel, and which of them counts."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

from ..model.errors import ConfigError, did_you_mean
from .config import WILDCARD, Config

# Wildcards as regular expressions: `**/` matches any number of folders, `*` and `?` match within a folder.
WILDCARDS = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}


@dataclass(frozen=True)
class Settings:
    """The settings of one kernel. `levels_where` and `args_where` name the keys of `levels` and `args`."""

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
    settings = Settings()
    for key in keys:
        entry, where = config.kernels[key], f"{config.shown}: kernels.{key!r}"
        settings = Settings(
            levels=settings.levels if entry.levels is None else entry.levels,
            args=settings.args if entry.args is None else entry.args,
            header=entry.header or settings.header,
            register=entry.register or settings.register,
            levels_where=settings.levels_where if entry.levels is None else f"{where}.levels",
            args_where=settings.args_where if entry.args is None else f"{where}.args",
        )
    return settings


def matches(pattern: str, source: str) -> bool:
    """Return whether a pattern matches the path of a kernel."""
    return _expression(pattern).fullmatch(source) is not None


@cache
def _expression(pattern: str) -> re.Pattern[str]:
    return re.compile("".join(WILDCARDS.get(part, re.escape(part)) for part in WILDCARD.split(pattern)))


def check_keys(config: Config, kernels: Sequence[str]) -> None:
    """Raise `ConfigError` for a path or pattern of isa.toml that matches none of the kernels."""
    for key in config.kernels:
        if key in kernels or any(matches(key, source) for source in kernels):
            continue
        where = f"{config.shown}: kernels"
        if WILDCARD.search(key):
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
