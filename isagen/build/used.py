"""Whether a target takes isa_kernels_dep: without it, sources do not find the header, and no kernel is linked."""

from __future__ import annotations

import os

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
        with open(os.path.join(build_root, NINJA_FILE), encoding="utf-8", errors="surrogateescape") as stream:
            lines = [line for line in stream if line.startswith("build ")]
    except OSError:
        return True
    name = os.path.relpath(dispatch_source, build_root).replace(os.sep, "/")
    path = " " + name.replace("$", "$$").replace(" ", "$ ").replace(":", "$:")
    return any(_names(line.partition(":")[2].rstrip("\n"), path) for line in lines if path in line)


def _names(inputs: str, path: str) -> bool:
    """Return whether the `inputs` of a rule name a `path`, which starts with the blank before it."""
    place = inputs.find(path)
    while place >= 0:
        if inputs[place - 1 : place] != "$" and inputs[place + len(path) :][:1] in ("", " "):
            return True
        place = inputs.find(path, place + 1)
    return False
