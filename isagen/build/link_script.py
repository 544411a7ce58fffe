"""Linker scripts in the place of thousands of sealed objects, which Meson and ninja would take long to know of."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

# Linkers take a file that is no object and no archive for a script, whatever its name is.
HEAD = "/* The sealed objects of isagen's kernels, which a linker takes all. */\nINPUT(\n"
TAIL = ")\n"


def linker_script(paths: Iterable[str]) -> str:
    """Return the script that stands for objects, whose paths need no quotes.

    The paths in it are absolute: gold does not look for others where it runs.
    """
    return HEAD + "".join(f"{os.path.abspath(path)}\n" for path in paths) + TAIL


def listed(path: str) -> Iterator[str]:
    """Yield the objects that a file stands for: those of such a script, or the file itself."""
    if path.endswith(".a"):
        try:
            with open(path, "rb") as stream:
                if stream.read(len(HEAD)) == HEAD.encode():
                    yield from stream.read().decode().removesuffix(TAIL).splitlines()
                    return
        except OSError:
            pass  # the linker says so
    yield path
