"""Whether a target takes isa_kernels_dep: without it, sources do not find the header, and no kernel is linked."""

from __future__ import annotations

import os
import re

from ..model.files import read_bytes

NINJA_FILE = "build.ninja"
WARNING = (
    "isagen: warning: meson.build: no target takes isa_kernels_dep: no kernel is linked, and sources do not find "
    "isa_dispatch.h\n  give a target dependencies: isa_kernels_dep"
)


def is_used(dispatch_source: str, build_root: str) -> bool:
    """Return whether a rule of ninja's file in `build_root` has the `dispatch_source` as an input.

    Return True without a ninja file: Meson has other backends.
    """
    try:
        content = read_bytes(os.path.join(build_root, NINJA_FILE))
    except OSError:
        return True
    path = os.path.relpath(dispatch_source, build_root).replace(os.sep, "/")
    quoted = os.fsencode(path.replace("$", "$$").replace(" ", "$ ").replace(":", "$:"))
    rules = (line for line in content.splitlines() if line.startswith(b"build ") and quoted in line)
    whole_word = re.compile(rb"(?<!\$) " + re.escape(quoted) + rb"(?: |\Z)")
    return any(whole_word.search(line.partition(b":")[2]) for line in rules)
