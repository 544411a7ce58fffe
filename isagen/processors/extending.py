"""Tables that extend tables: reads a table and what it extends into the data of one table."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from ..model.errors import TableError, did_you_mean
from ..model.toml import Section, parse_toml
from .registry import builtin_tables

Data = dict[str, Any]


def read_extended(reference: str, folder: Path, where: str) -> tuple[Data, tuple[Path, ...]]:
    """Return the data of the table called `reference`, and the files of the project's own that it was read from.

    The reference is the name of a table of isagen, or a path to a TOML file, relative to `folder`. Raises `TableError`.
    """
    return _read(reference, folder, where, ())


def shown_name(reference: str) -> str:
    """Return how messages name a table."""
    return reference if _is_path(reference) else f"table {reference}"


def _is_path(reference: str) -> bool:
    return reference.endswith(".toml") or "/" in reference or "\\" in reference


def _read(reference: str, folder: Path, where: str, seen: tuple[str, ...]) -> tuple[Data, tuple[Path, ...]]:
    path, own = _find(reference, folder, where)
    key, shown = str(path), shown_name(reference)
    if key in seen:
        chain = " -> ".join(Path(p).stem for p in (*seen[seen.index(key) :], key))
        raise TableError(f"tables extend each other in a circle: {chain}", where=f"{reference}: extends")
    data = parse_toml(path, TableError, shown)
    base = data.pop("extends", None)
    if base is None:
        return data, own
    if not isinstance(base, str):
        raise TableError(f"must be a string, not {base!r}", where=f"{shown}: extends")
    lower, files = _read(base, path.parent, f"{shown}: extends", (*seen, key))
    return _merged(_chosen(lower, data, shown), data), (*own, *files)


def _find(reference: str, folder: Path, where: str) -> tuple[Path, tuple[Path, ...]]:
    """Return the file of a table, and the same as one of the project's own if it is one."""
    tables = builtin_tables()
    if _is_path(reference):
        path = (folder / reference).resolve()
        if path.is_file():
            named = folder / reference
            # A link that comes to lead elsewhere changes the table, but no file that it leads to.
            return path, (path,) if os.path.normpath(named) == os.fspath(path) else (named, path)
        remedy = f"looked for {path}; tables of isagen: {', '.join(tables)}"
    elif reference in tables:
        return tables[reference], ()
    else:
        remedy = did_you_mean(reference, tables) + "; a table of your own is given as a path that ends in .toml"
    raise TableError(f"there is no table {reference!r}", where=where, remedy=remedy)


def _chosen(lower: Data, upper: Data, shown: str) -> Data:
    """Return `lower` with the levels that `upper` keeps of it; takes the keys `keep` and `drop` out of `upper`."""
    section = Section(upper, shown, TableError)
    levels = Section(lower, shown, TableError).section("levels").names()
    chosen = {}
    for key in ("keep", "drop"):
        if key in upper:
            chosen[key] = section.strings(key)
            for name in chosen[key]:
                if name not in levels:
                    raise section.fail(key, f"there is no level {name!r} to {key}", did_you_mean(name, levels))
            del upper[key]
    if len(chosen) == 2:
        raise section.fail("drop", "cannot stand beside keep", "keep names all levels that stay")
    if not chosen:
        return lower
    keep = chosen["keep"] if "keep" in chosen else [name for name in levels if name not in chosen["drop"]]
    return {**lower, "levels": {name: lower["levels"][name] for name in levels if name in keep}}


def _merged(lower: Data, upper: Data) -> Data:
    """Lay `upper` over `lower`: levels and extra features are merged by name and key, ignored macros added."""
    merged = {**lower, **upper}
    if isinstance(lower.get("ignored_macros"), list) and isinstance(upper.get("ignored_macros"), list):
        merged["ignored_macros"] = lower["ignored_macros"] + upper["ignored_macros"]
    for group in ("levels", "extra_features"):
        old, new = lower.get(group), upper.get(group)
        if isinstance(old, dict) and isinstance(new, dict):
            merged[group] = {**old}
            for name, value in new.items():
                both = isinstance(value, dict) and isinstance(old.get(name), dict)
                merged[group][name] = {**old[name], **value} if both else value
    return merged
