"""The script that Meson runs after configuring: it starts the step `used` where grep does not find what that looks for.

Nearly all projects have a target that takes isa_kernels_dep; to start a Python for that takes four times as long.
"""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path

from ..model.files import write_if_changed
from ..model.names import TOOL_FOLDER, TOOL_MAIN

NAME = "used.sh"
# What ninja quotes in a path is no such expression, and left to the step. The argument is a path from the build folder.
SCRIPT = """#!/bin/sh
grep -q -e "_COMPILER[A-Z_]* $1\\( \\|\\$\\)" "$MESON_BUILD_ROOT/build.ninja" 2>/dev/null && exit 0
exec {command} used "$MESON_BUILD_ROOT/$1"
"""


def write_used_script(output: Path) -> list[str]:
    """Write the script below `output`, and return its path; nothing where no shell is sure to be."""
    if os.name != "posix":
        return []
    path = output / TOOL_FOLDER / NAME
    command = shlex.join([sys.executable, "-I", "-S", str(output / TOOL_FOLDER / TOOL_MAIN)])
    write_if_changed(path, SCRIPT.format(command=command), mode=0o777)
    return [str(path)]
