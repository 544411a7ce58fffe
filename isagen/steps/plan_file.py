"""Reading the plan that configuring left in the build folder, and what steps note beside it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ..errors import BuildError


def read_plan(path: Path) -> dict[str, Any]:
    """Return the JSON object at `path`. Raises `BuildError` if it is missing or damaged."""
    try:
        plan: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as problem:
        raise BuildError(
            f"cannot be read: {problem}",
            where=str(path),
            remedy="configure the build folder again: meson setup --reconfigure BUILD_DIR",
        ) from None
    return plan
