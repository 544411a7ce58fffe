"""The folder that `isagen init` is called for: an empty one, a project of Meson, or one that it refuses."""

from __future__ import annotations

import re
import unicodedata
from pathlib import Path

from ..model.errors import ProjectError
from .meson_files import NAME, without_comments

# Files and folders that a folder may have for which a project is written: hidden ones, and texts about a project.
BESIDE = re.compile(
    r"\..*|(README|LICEN[CS]E|COPYING|NOTICE|AUTHORS|CONTRIBUTING|CHANGELOG|CHANGES|SECURITY)\b.*", re.I
)
# Files of other build systems, which a message names before others.
BUILD_FILES = ("CMakeLists.txt", "setup.py", "pyproject.toml", "Makefile", "configure.ac", "BUILD.bazel")
PROJECT = re.compile(r"\bproject\s*\(\s*'((?:\\.|[^'\\\n])+)'")
# The least that a project with kernels has.
LEAST = """\
project('{name}', 'c', 'cpp', version: '0.1', meson_version: '>=1.0.1')
    isa_kernels = files('kernels/one.cpp')
    subdir('{fragment}')
    library('{name}', 'src/other.cpp', dependencies: isa_kernels_dep)"""


def check_empty(folder: Path, name: str, fragment: str) -> None:
    """Raise `ProjectError` where a folder without meson.build holds more than texts about a project that begins.

    `name` is the package's, and `fragment` the folder for isagen's files, in the meson.build that the error shows.
    """
    found = sorted(path.name for path in folder.iterdir() if not BESIDE.fullmatch(path.name))
    found = [one for one in found if not (folder / one / "pyvenv.cfg").exists()]
    if found:
        first = next((one for one in BUILD_FILES if one in found), found[0])
        raise ProjectError(
            "exists already, but there is no meson.build",
            where=str(folder / first),
            remedy="isagen works in projects that Meson builds: write a meson.build, and run `isagen init` again. "
            "In an empty folder, it writes a whole project. To start from:\n    "
            + LEAST.format(name=name, fragment=fragment),
        )


def project_name(folder: Path) -> str:
    """Return the name that a project's meson.build gives it; "" where it has none that can be read."""
    path = folder / NAME
    text = path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""
    found = PROJECT.search(without_comments(text))
    return re.sub(r"\\(.)", r"\1", found[1]) if found else ""


def override_name(project: str) -> str:
    """Return the override variable for a project's name."""
    letters = unicodedata.normalize("NFKD", project).encode("ascii", "ignore").decode()
    plain = re.sub(r"\W+", "_", letters).strip("_").upper()
    own = plain[:1].isalpha()
    return "_".join(part for part in ("" if own else "MY", plain, "ISA") if part)
