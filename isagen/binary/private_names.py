"""The names that sealing gives to what is private to a level: `_Z4sortPf` of AVX2 is `_Z4sortPf.avx2.NUMBER`.

The end is written as those of GCC's own clones: demanglers show `sort(float*) [clone .avx2.NUMBER]`. The number tells
projects in one program apart.
"""

from __future__ import annotations

import re

from ..model.names import SEALED

ANY_LEVEL = re.compile(SEALED.format(level="[a-z0-9_]+"))


def private_name(name: str, level: str, mark: str) -> str:
    """Return the name that is private to `level` for the symbol `name`; `mark` is the project's number."""
    return f"{name}.{level.lower()}.{mark}"


def name_in_source(name: str) -> str:
    """Return the symbol that the compiler gave what may be private to a level now."""
    return ANY_LEVEL.sub("", name)
