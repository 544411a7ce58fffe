"""The dispatch source as configuring rendered it, in a file beside the copied tool."""

from __future__ import annotations

from pathlib import Path

from ..model.errors import BuildError
from ..model.names import STUBS_MARK, TEXTS_FOLDER, TOOL_FOLDER, dispatch_name
from ..model.plan_file import RECONFIGURE


def dispatch_source(plan_path: Path, kernel_set: str) -> str:
    """Return the dispatch source of a set of kernels, whose table of stubs is still a mark.

    Raises `BuildError` where it is missing.
    """
    path = plan_path.parent / TOOL_FOLDER / TEXTS_FOLDER / dispatch_name(kernel_set, "c")
    try:
        text = path.read_bytes().decode(errors="surrogateescape")
    except OSError as problem:
        raise BuildError(f"cannot be read: {problem.strerror}", where=str(path), remedy=RECONFIGURE) from None
    if STUBS_MARK not in text:
        raise BuildError("is not the dispatch source that configuring wrote", where=str(path), remedy=RECONFIGURE)
    return text
