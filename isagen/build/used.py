"""Whether a target takes isa_kernels_dep: without it, sources do not find the header, and no kernel is linked."""

from __future__ import annotations

import os

from ..model.files import read_bytes

NINJA_FILE = "build.ninja"
WARNING = (
    "isagen: warning: meson.build: no target takes isa_kernels_dep: no kernel is linked, and sources do not find "
    "isa_dispatch.h\n  give a target dependencies: isa_kernels_dep"
)


def is_used(dispatch_source: str, build_root: str) -> bool:
    """Return whether ninja's file in `build_root` compiles the `dispatch_source` for a target.

    What another backend of Meson wrote is not read.
    """
    try:
        content = read_bytes(os.path.join(build_root, NINJA_FILE))
    except OSError:
        return True
    name = os.path.relpath(dispatch_source, build_root).replace(os.sep, "/")
    path = os.fsencode(" " + name.replace("$", "$$").replace(" ", "$ ").replace(":", "$:"))
    place = content.find(path)  # of some megabytes, few lines name it
    while place >= 0:
        start, end = content.rfind(b"\n", 0, place) + 1, content.find(b"\n", place)
        line = content[start : end if end >= 0 else len(content)]
        if line.startswith(b"build ") and _names(line.partition(b":")[2].rstrip(b"\r"), path):
            return True
        place = content.find(path, start + len(line))
    return False


def _names(inputs: bytes, path: bytes) -> bool:
    """Return whether the `inputs` of a rule name a `path`, which starts with the blank before it."""
    place = inputs.find(path)
    while place >= 0:
        if inputs[place - 1 : place] != b"$" and inputs[place + len(path) :][:1] in (b"", b" "):
            return True
        place = inputs.find(path, place + 1)
    return False
