"""The texts of generated sources, which configuring writes beside the copied tool."""

from __future__ import annotations

import os

from ..model.errors import BuildError
from ..model.names import TEXTS_FOLDER, TOOL_FOLDER


def text_for(plan: str, output: str) -> str:
    """Return the text for an `output` in C or C++. Raises `BuildError` where it is missing."""
    name = f"{os.path.splitext(os.path.basename(output))[0]}.c"
    path = os.path.join(os.path.dirname(plan), TOOL_FOLDER, TEXTS_FOLDER, name)
    try:
        with open(path, encoding="utf-8", errors="surrogateescape", newline="") as stream:
            return stream.read()
    except OSError as problem:
        from ..model.plan_file import RECONFIGURE

        raise BuildError(f"cannot be read: {problem.strerror}", where=path, remedy=RECONFIGURE) from None
