"""Whether a build has all levels that its compilers can build, or its lowest alone; whether it is sealed; and why.

isagen reads objects to seal and audit levels, and its tables hold the options and macros of compilers that it knows.
Otherwise the project builds for its baseline alone.
"""

from __future__ import annotations

import zlib
from collections.abc import Container, Iterable
from dataclasses import dataclass

from ..binary.formats import format_names, has_format_macro, known_systems
from ..model.plan import Limit, Sealing

# Optimization for debugging folds nothing, so that debuggers show the level of each function.
UNFOLDED = frozenset({"-O0", "-Og"})
UNLISTED = "it does not list its macros (-dM -E)"


@dataclass(frozen=True)
class Maker:
    """A compiler of the build: its name in messages, whether isagen knows it, and its predefined macros, {} if
    unreadable.
    """

    name: str
    known: bool
    macros: Container[str] | None


def limit_of(system: str | None, makers: Iterable[Maker], no_table: str = "") -> Limit:
    """Return what limits a build for Meson's `system` by its compilers; `no_table` says why there are no levels.

    There is no `system` where only compilers are asked about.
    """
    makers = tuple(makers)
    for maker in makers:
        if not maker.known:
            blind = "" if maker.macros else f", nor its baseline, as {UNLISTED}"
            return Limit(f"isagen does not know the compiler {maker.name}{blind}", opaque=True, foreign=True)
    known = system is None or system in known_systems()
    other = next((maker for maker in makers if maker.macros is None or not has_format_macro(maker.macros)), None)
    if other:
        whose = f"of {other.name}" if known else f"for {system}"
        blind = "" if other.macros else f"; the baseline of {other.name} is unknown, as {UNLISTED}"
        return Limit(f"objects {whose} are not {format_names()}, which isagen reads{blind}", opaque=True)
    if not known:
        return Limit(f"isagen does not know the system {system}", opaque=True)
    return Limit(no_table)


def folds(wanted: bool, module: str, optimization: str) -> bool:
    """Return whether equal copies are linked once; `wanted` is what isa.toml says.

    The levels of a `module` are files of their own.
    """
    return wanted and not module and optimization not in UNFOLDED


def sealing_of(suffix: str, wanted: bool, limit: Limit, fold: bool) -> Sealing:
    """Return how the levels of a set of kernels are sealed; `wanted` is the Meson option.

    The `suffix` of its symbols is its own. Levels may `fold`.
    """
    if not wanted:
        return Sealing(reason="switched off by the Meson option isa_seal")
    if limit.opaque:
        return Sealing(reason="isagen does not read objects of this build, and they are of one level")
    # Several projects may be linked into one program. Demanglers know suffixes of digits.
    return Sealing(project_number=str(zlib.crc32(suffix.encode())), fold=fold)
