"""Whether the levels of a build are sealed."""

from __future__ import annotations

import zlib

from ..model.plan import Limit, Sealing

# Meson's names of optimisation for debuggers, which show the level of each function.
UNFOLDED = frozenset({"0", "g"})


def folds(wanted: bool, module: str, optimization: str) -> bool:
    """Return whether equal copies are linked once; `wanted` is what isa.toml says.

    The levels of a `module` are files of their own.
    """
    return wanted and not module and optimization not in UNFOLDED


def sealing_of(project: str, wanted: bool, limit: Limit, fold: bool) -> Sealing:
    """Return how the levels of `project` are sealed, and whether they `fold`; `wanted` is the Meson option."""
    if not wanted:
        return Sealing(reason="switched off by the Meson option isa_seal")
    if limit.opaque:
        return Sealing(reason="isagen does not read objects of this build, and they are of one level")
    # Several projects may be linked into one program. Demanglers know suffixes of digits.
    return Sealing(mark=str(zlib.crc32(project.encode())), fold=fold)
