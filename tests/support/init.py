"""Running `isagen init` in this process, and seeing what it wrote."""

from pathlib import Path

import pytest

from isagen.model.errors import ProjectError
from isagen.project.init import init_project

EXISTING = "project('mine', 'cpp', version: '1')\nexecutable('mine', 'main.cpp')\n"
OPTIONS = "option('speed', type: 'boolean')\n"


def existing_project(parent: Path) -> Path:
    """Return a new folder of a project that has a meson.build already."""
    folder = parent / "mine"
    folder.mkdir()
    (folder / "meson.build").write_text(EXISTING)
    return folder


def run(folder: Path, **arguments) -> str:
    """Run it; return what it says."""
    return "\n".join(init_project(folder, **arguments))


def tree(folder: Path) -> dict[str, bytes]:
    """Return the files below a folder by path."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def refused(folder: Path, match: str, **arguments) -> None:
    """Check that init raises, and that it wrote nothing, not even a folder."""
    before, paths = tree(folder), set(folder.rglob("*"))
    with pytest.raises(ProjectError, match=match):
        run(folder, **arguments)
    assert tree(folder) == before
    assert set(folder.rglob("*")) == paths
