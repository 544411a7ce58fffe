"""Switching levels that are not worth their bytes off in isa.toml, with the measurement beside them."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from ..model.errors import ConfigError
from ..model.files import write_if_changed
from ..planning.config import load_config
from ..planning.kernel_settings import settings_of
from .advice import Advice, shown


def check_writable(path: Path) -> None:
    """Raise `ConfigError` where `write_levels` could not write: before a benchmark runs for minutes."""
    _editor()
    config = load_config(path)
    if config.sets:
        raise ConfigError(
            "has several sets of kernels",
            where=str(path),
            remedy="leave --write out, and set the levels of each by hand",
        )


def write_levels(path: Path, advice: Iterable[Advice], heading: str, several: bool) -> list[str]:
    """Switch the levels that are dropped off in a project's isa.toml; return what was written, a line for each kernel.

    Comments and order of the file stay. `heading` says when and where was measured. Raises `ConfigError`, and then
    leaves the file as it is.
    """
    check_writable(path)
    config, text = load_config(path), path.read_text(encoding="utf-8")
    document, expected = _editor().parse(text), tomllib.loads(text)
    said = []
    for one in advice:
        if not one.dropped:
            continue
        own = settings_of(one.source, config).levels if one.source else None
        words = [*((own or ()) if one.source else config.levels), *(f"-{level}" for level in one.dropped)]
        keys = ("kernels", one.source) if one.source else ()
        if _levels_at(expected, keys) == words:
            continue
        comment = f"{heading}: {', '.join(_reasons(one, several))}"
        _set(document, keys, words, comment)
        _set(expected, keys, words, "")
        said.append(f"{one.source or 'all kernels'}: levels {' '.join(words)}")
    new = _editor().dumps(document)
    if said:
        if not _is(new, expected):
            raise ConfigError(
                "holds its kernels in a form that cannot be changed here, such as an inline table",
                where=str(path),
                remedy=f"write by hand: {'; '.join(said)}",
            )
        write_if_changed(path, new)
    return said


def _editor() -> Any:
    try:
        import tomlkit
    except ImportError:
        raise ConfigError(
            "writing isa.toml needs tomlkit", where="--write", remedy='install it: pip install "isagen[tune]"'
        ) from None
    return tomlkit


def _reasons(one: Advice, several: bool) -> list[str]:
    return [
        f"{judged.level}: {'; '.join(shown(found, several) for found in judged.comparisons)}"
        for judged in one.levels
        if not judged.keep
    ]


def _levels_at(data: Any, keys: Sequence[str]) -> Any:
    for key in keys:
        data = data.get(key, {})
    return data.get("levels")


def _set(place: Any, keys: Sequence[str], words: Sequence[str], comment: str) -> None:
    """Set `levels` in the table that `keys` lead to, which is made where there is none."""
    for key in keys:
        if key not in place:
            place[key] = _editor().table(is_super_table=key == "kernels") if comment else {}
        place = place[key]
    place["levels"] = list(words)
    if comment and hasattr(place["levels"], "comment"):
        place["levels"].comment(comment)


def _is(text: str, expected: Any) -> bool:
    try:
        found: object = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return False
    return bool(found == expected)
