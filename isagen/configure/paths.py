"""Paths that Meson and ninja cannot name in a build: refused before anything is written."""

from __future__ import annotations

from pathlib import Path

from ..model.errors import ProjectError
from ..planning.plan import UNNAMEABLE


def check_paths(source: Path, build: Path) -> None:
    """Raise `ProjectError` for the path of a project or build folder in which ninja would not find its files.

    `source` is a path inside the project. In a build folder's path, a bar does no harm: ninja never names it.
    """
    for path, shown, characters in ((source, "source", UNNAMEABLE), (build, "build", UNNAMEABLE[:1])):
        for character, reason in characters:
            if character in str(path):
                raise ProjectError(
                    f"has a {reason}",
                    where=f"{shown} folder: {path}",
                    remedy="move it to a path without this character",
                )
