"""Whether a target takes isa_kernels_dep: without it, sources do not find the header, and no kernel is linked."""

from __future__ import annotations

import os
import re
from pathlib import Path

NINJA_FILE = "build.ninja"
WARNING = (
    "isagen: warning: meson.build: no target takes isa_kernels_dep: no kernel is linked, and sources do not find "
    "isa_dispatch.h\n  give a target dependencies: isa_kernels_dep"
)


def is_used(dispatch_source: Path, build_root: Path) -> bool:
    """Return whether ninja's file in `build_root` compiles the `dispatch_source` for a target.

    What another backend of Meson wrote is not read.
    """
    try:
        text = (build_root / NINJA_FILE).read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return True
    name = Path(os.path.relpath(dispatch_source, build_root)).as_posix()
    quoted = name.replace("$", "$$").replace(" ", "$ ").replace(":", "$:")
    path = re.compile(rf"(?<!\$) {re.escape(quoted)}(?= |\Z)")
    return any(path.search(line.partition(":")[2]) for line in text.splitlines() if line.startswith("build "))
