"""Disables levels that are not worth their bytes in isa.toml, with the measurement in a comment."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ..model.errors import ConfigError
from ..model.files import write_if_changed
from ..planning.config import load_config
from ..planning.kernels import settings_of
from .judge import Advice, shown


def check_writable(path: Path) -> None:
    """Raise `ConfigError` if `write_levels` could not write; called before a benchmark, which may run for minutes."""
    _editor()
    config = load_config(path)
    if config.sets:
        raise ConfigError(
            "has several sets of kernels",
            where=str(path),
            remedy="leave --write out, and set the levels of each by hand",
        )


def write_levels(path: Path, advice: Iterable[Advice], heading: str, several: bool) -> list[str]:
    """Switch off the dropped levels in a project's isa.toml; return a line for each kernel that was changed.

    Other comments and the order of the file do not change. `heading` names the date and the machines of the
    measurement; with `several` machines, each comparison names its own. Raises `ConfigError` if the file cannot be
    edited, and then writes nothing.
    """
    check_writable(path)
    config = load_config(path)
    document = _editor().parse(path.read_text(encoding="utf-8"))
    changes = []
    for kernel in advice:
        if not kernel.dropped:
            continue
        before = settings_of(kernel.source, config).levels or () if kernel.source else config.levels
        words = [*before, *(f"-{level}" for level in kernel.dropped)]
        table = _table(document, kernel.source)
        if table.get("levels") != words:
            table["levels"] = words
            table["levels"].comment(f"{heading}: {', '.join(_reasons(kernel, several))}")
            changes.append(f"{kernel.source or 'all kernels'}: levels {' '.join(words)}")
    if not changes:
        return []
    text = _editor().dumps(document)
    if not _has_data(text, document.unwrap()):
        raise ConfigError(
            "writes its kernels in a form that isagen cannot edit, such as an inline table",
            where=str(path),
            remedy=f"write by hand: {'; '.join(changes)}",
        )
    write_if_changed(path, text)
    return changes


def _editor() -> Any:
    try:
        import tomlkit
    except ImportError:
        raise ConfigError(
            "writing isa.toml needs tomlkit", where="--write", remedy='install it: pip install "isagen[tune]"'
        ) from None
    return tomlkit


def _reasons(advice: Advice, several: bool) -> list[str]:
    return [
        f"{judged.level}: {'; '.join(shown(comparison, several) for comparison in judged.comparisons)}"
        for judged in advice.levels
        if not judged.keep
    ]


def _table(document: Any, source: str) -> Any:
    """Return the table of a kernel, which is added if it is missing; the whole document if `source` is ""."""
    if not source:
        return document
    kernels = document.setdefault("kernels", _editor().table(is_super_table=True))
    return kernels.setdefault(source, _editor().table())


def _has_data(text: str, data: object) -> bool:
    """Return whether a TOML `text` contains `data`; tomlkit does not write all changes of inline tables."""
    try:
        return bool(tomllib.loads(text) == data)
    except tomllib.TOMLDecodeError:
        return False
