"""Switching levels that are not worth their bytes off in isa.toml, with the measurement beside them."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ..model.errors import ConfigError
from ..model.files import write_if_changed
from ..planning.config import load_config
from ..planning.kernel_settings import settings_of
from .judge import Advice, shown


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

    Comments and order of the file do not change. `heading` names date and machines of the measurement. Raises
    `ConfigError` where the file cannot be edited, which then does not change.
    """
    check_writable(path)
    config = load_config(path)
    document = _editor().parse(path.read_text(encoding="utf-8"))
    said = []
    for one in [one for one in advice if one.dropped]:
        own = settings_of(one.source, config).levels or () if one.source else config.levels
        words = [*own, *(f"-{level}" for level in one.dropped)]
        table = _table(document, one.source)
        if table.get("levels") != words:
            comment = f"{heading}: {', '.join(_reasons(one, several))}"
            table["levels"] = words
            table["levels"].comment(comment)
            said.append(f"{one.source or 'all kernels'}: levels {' '.join(words)}")
    new = _editor().dumps(document)
    if said and not _is(new, document.unwrap()):
        raise ConfigError(
            "holds its kernels in a form that cannot be changed here, such as an inline table",
            where=str(path),
            remedy=f"write by hand: {'; '.join(said)}",
        )
    if said:
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


def _table(document: Any, source: str) -> Any:
    """Return the table of a kernel's settings, which is made where there is none; of the project's for no `source`."""
    if not source:
        return document
    kernels = document.setdefault("kernels", _editor().table(is_super_table=True))
    return kernels.setdefault(source, _editor().table())


def _is(text: str, expected: Any) -> bool:
    try:
        found: object = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return False
    return bool(found == expected)
