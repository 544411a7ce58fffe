"""The private names that sealing gives to symbols of a level: `_Z4sortPf` of AVX2 becomes `_Z4sortPf.avx2.NUMBER`.

The suffix has the form of GCC's clones: demanglers show `sort(float*) [clone .avx2.NUMBER]`. The number distinguishes
the projects in one program.
"""

from __future__ import annotations

import re

from ..model.names import SEALED

ANY_LEVEL = re.compile(SEALED.format(level="[a-z0-9_]+"))


def private_name(name: str, level: str, mark: str) -> str:
    """Return the name that the symbol `name` gets if it is private to `level`; `mark` is the project's number."""
    return f"{name}.{level.lower()}.{mark}"


def name_in_source(name: str) -> str:
    """Return a symbol's name as the compiler wrote it, without the suffix of a private name."""
    return ANY_LEVEL.sub("", name)


def level_of_name(name: str) -> str:
    """Return the level to which a private name belongs, in lower case; "" for other names."""
    found = ANY_LEVEL.search(name)
    return found[0].split(".")[1] if found else ""
