"""The names that sealing gives to what is private to a level: `_Z4sortPf` of AVX2 is `_Z4sortB4AVX2Pf.avx2.NUMBER`.

The end makes the name private: level, and a number that tells projects in one program apart. Of C++ functions the level
is in the name too, as an ABI tag, because profilers leave out the end.
"""

from __future__ import annotations

import re

from ..model.names import SEALED

ANY_LEVEL = re.compile(SEALED.format(level="([a-z0-9_]+)"))


def private_end(level: str, mark: str) -> str:
    """Return how names that are private to `level` end; `mark` is the project's number."""
    return f".{level.lower()}.{mark}"


def private_name(name: str, level: str, mark: str) -> str:
    """Return the name that is private to `level` for the symbol `name`."""
    from .mangling import tagged

    return tagged(name, level) + private_end(level, mark)


def without_tag(name: str) -> str:
    """Return a name without the tag that sealing gave it; the end stays."""
    end = ANY_LEVEL.search(name)
    if end is None:
        return name
    from .mangling import untagged  # links whose names were kept need none of it

    return untagged(name, end.group(1).upper())


def name_in_source(name: str) -> str:
    """Return the symbol that the compiler gave what may be private to a level now."""
    return ANY_LEVEL.sub("", without_tag(name))
