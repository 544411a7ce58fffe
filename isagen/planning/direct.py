"""Compiling kernel sources without copies of them, where Meson and ninja would have to know of thousands of copies."""

from __future__ import annotations

import posixpath
from collections import Counter
from collections.abc import Iterable
from functools import cache

from ..model.frozen import replace
from ..model.plan import MANY, KernelRow

# Meson hashes the start of a path of more folders than its name has, where that makes the name shorter.
PARTS, HASH = 5, 41


def without_copies(kernels: Iterable[KernelRow], folder: str) -> list[KernelRow]:
    """Return the kernels of a set, with names of objects where the sources themselves shall be compiled.

    That is where there are more than `MANY` copies, and those would do nothing but include their sources. `folder` is
    that of the fragment, from the project's root, as sources are.
    """
    rows = list(kernels)
    if sum(bool(cell.copy) + bool(cell.shim) for row in rows for cell in row.cells) <= MANY:
        return rows
    names = {row.source: object_name(row.source, folder) for row in rows if row.included and not row.registers}
    counts = Counter(name.casefold() for name in names.values())
    return [
        replace(row, object=name) if (name := names.get(row.source, "")) and counts[name.casefold()] == 1 else row
        for row in rows
    ]


def object_name(source: str, folder: str) -> str:
    """Return what Meson calls the objects of a source in targets of a `folder`; "" where that is not known.

    Meson's `Backend.object_filename_from_source`, of version 1.0.1 and later.
    """
    if source.startswith(("../", "/")) or folder.startswith(("../", "/")):
        return ""
    place, name = posixpath.split(source)
    way = _way(place, folder)
    path = name if way == "." else f"{way}/{name}"
    last = "/".join(path.split("/")[-PARTS:])
    return f"{path.replace('/', '_').replace(':', '_')}.o" if len(path) <= len(last) + HASH else ""


@cache
def _way(place: str, folder: str) -> str:
    """Return the path to a folder of sources from another folder of the project: thousands of sources are in few."""
    return posixpath.relpath(f"/{place}", f"/{folder}")
