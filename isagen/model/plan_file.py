"""Reads plans and registrations of levels from a build folder, and returns the texts to write there."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

from .codec import from_text, to_text
from .errors import PlanError, ProjectError
from .files import AnyPath, read_bytes
from .names import PLAN, TOOL_FOLDER
from .plan import Build
from .registrations import Registrations

T = TypeVar("T")

# The format of plans and registrations: raise the number for a change that an older reader does not understand.
PLAN_FORMAT = 15
RECONFIGURE = "configure the build folder again: meson setup --reconfigure BUILD_DIR"


def file_text(content: Build | Registrations) -> str:
    """Return the text of a plan file, or of a file of registrations."""
    return to_text(content, PLAN_FORMAT) + "\n"


def read_plan(path: AnyPath) -> Build:
    """Return the build in a plan file. Raises `PlanError` if the file is missing, damaged, or of another format."""
    return _read(Build, path, RECONFIGURE)


def linkers_folder(plan_name: str, mode: str) -> str:
    """Return the folder of the scripts that replace linkers in an audit `mode`, relative to the plan's folder."""
    return f"{TOOL_FOLDER}/audit_{mode}{plan_name.removeprefix('isa_plan').removesuffix('.json')}"


def read_registrations(path: Path) -> Registrations:
    """Return the registrations in the file at `path`. Raises `PlanError` as `read_plan` does."""
    return _read(Registrations, path, "clean the build folder, and build again: ninja -C BUILD_DIR clean")


def outputs_folder(folder: Path) -> Path:
    """Return where Meson writes the outputs of a meson.build whose folder in the build is `folder`.

    With Meson's option layout=flat, that is one folder for the whole build, otherwise `folder` itself.
    """
    for root in (folder, *folder.parents):
        if (root / "meson-private").is_dir():
            return root / "meson-out" if (root / "meson-out").is_dir() else folder
    return folder


def find_plans(folder: Path) -> list[Path]:
    """Return the plan files in a folder and below. Raises `ProjectError` if there is none."""
    plans = list(plans_in(folder))
    if not plans:
        raise ProjectError(
            "no build that uses isagen is here",
            where=str(folder),
            remedy="configure the project first (meson setup BUILD_DIR), and give BUILD_DIR",
        )
    return plans


def plans_in(folder: Path) -> Iterator[Path]:
    """Yield the plan files in a folder and below."""
    for root, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.endswith(".p") and name != TOOL_FOLDER)
        yield from (Path(root, name) for name in sorted(filter(PLAN.fullmatch, files)))


def _read(kind: type[T], path: AnyPath, remedy: str) -> T:
    try:
        return from_text(kind, read_bytes(path), PLAN_FORMAT)
    except (OSError, ValueError) as problem:
        reason = problem.strerror if isinstance(problem, OSError) else problem
        raise PlanError(f"cannot be read: {reason}", where=str(path), remedy=remedy) from None
