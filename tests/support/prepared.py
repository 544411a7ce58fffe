"""Projects that are built once for all tests of a process: each test gets them as they were built, in one folder."""

import shutil
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from support.projects import SCAFFOLD, Project, make_project

# Levels for tests of what all levels have in common: a vector width each, in half of the time that all eight take.
FEW = "-Disa_levels=AVX2,AVX512"


# Makes a project in a folder, and does not configure it.
Maker = Callable[[Path], Project]


class Prepared:
    """Makes projects, or puts those back that an earlier test asked for with the same arguments and then changed."""

    def __init__(self, folder: Path):
        self._folder = folder
        self._made: dict[tuple, Project] = {}

    def __call__(self, package: str | Maker | None, *options: str, **environment: str) -> Project:
        """Return a project, configured and built: of tests/packages, of a maker, or what `isagen init` makes."""
        key = (package, options, *sorted(environment.items()))
        if key not in self._made:
            project = _make(package, Path(tempfile.mkdtemp(dir=self._folder)))
            project.setup(*options, **environment)
            project.ninja()
            _copy(project.folder, _kept(project.folder))
            self._made[key] = project
        else:
            project = self._made[key]
            shutil.rmtree(project.folder)
            _copy(_kept(project.folder), project.folder)
        return replace(project, environment=dict(project.environment))


def _make(package: str | Maker | None, folder: Path) -> Project:
    if callable(package):
        return package(folder)
    return make_project(folder, package or SCAFFOLD)


def _kept(folder: Path) -> Path:
    return folder.with_name("kept")


def _copy(source: Path, target: Path) -> None:
    """Copy a folder; with the files' times, so that ninja has nothing to do in the copy either."""
    shutil.copytree(source, target, symlinks=True)
