"""The dispatch headers and source as configuring rendered them, in files beside the copied tool."""

from __future__ import annotations

from pathlib import Path

from ..model.errors import BuildError
from ..model.names import STUBS_MARK, TEXTS_FOLDER, TOOL_FOLDER
from ..model.plan_file import RECONFIGURE


def texts_folder(plan_path: Path) -> Path:
    """Return the folder of the texts that belong to the plan at `plan_path`."""
    return plan_path.parent / TOOL_FOLDER / TEXTS_FOLDER


def read_texts(plan_path: Path) -> dict[str, bytes]:
    """Return the texts by file name. Raises `BuildError` where they are missing."""
    folder = texts_folder(plan_path)
    try:
        return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}
    except OSError as problem:
        raise BuildError(f"cannot be read: {problem.strerror}", where=str(folder), remedy=RECONFIGURE) from None


def dispatch_source(plan_path: Path) -> str:
    """Return the dispatch source, whose table of stubs is still a mark. Raises `BuildError` where it is missing."""
    for text in read_texts(plan_path).values():
        if STUBS_MARK.encode() in text:
            return text.decode(errors="surrogateescape")
    raise BuildError("holds no dispatch source", where=str(texts_folder(plan_path)), remedy=RECONFIGURE)
