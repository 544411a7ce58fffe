"""The dispatch source, and a module's front, as configuring rendered them: files beside the copied tool."""

from __future__ import annotations

from pathlib import Path

from ..model.errors import BuildError
from ..model.names import STUBS_MARK, TEXTS_FOLDER, TOOL_FOLDER, dispatch_name, front_name
from ..model.plan_file import RECONFIGURE


def dispatch_source(plan_path: Path, kernel_set: str) -> str:
    """Return the dispatch source of a set of kernels, whose table of stubs is still a mark.

    Raises `BuildError` where it is missing.
    """
    path = _place(plan_path, dispatch_name(kernel_set, "c"))
    text = _read(path)
    if STUBS_MARK not in text:
        raise BuildError("is not the dispatch source that configuring wrote", where=str(path), remedy=RECONFIGURE)
    return text


def front_source(plan_path: Path, kernel_set: str) -> str:
    """Return the source of the front of a whole module. Raises `BuildError` where it is missing."""
    return _read(_place(plan_path, front_name(kernel_set, "c")))


def _place(plan_path: Path, name: str) -> Path:
    return plan_path.parent / TOOL_FOLDER / TEXTS_FOLDER / name


def _read(path: Path) -> str:
    try:
        return path.read_bytes().decode(errors="surrogateescape")
    except OSError as problem:
        raise BuildError(f"cannot be read: {problem.strerror}", where=str(path), remedy=RECONFIGURE) from None
