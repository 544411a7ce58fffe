"""Two limits of a build: it has its lowest level alone, or its levels are not sealed; each with the reason.

isagen reads objects to seal and audit them, and its tables contain the options and macros of certain compilers. With
other objects or compilers, it builds the project for the baseline alone.
"""

from __future__ import annotations

import zlib
from collections.abc import Container, Iterable
from dataclasses import dataclass

from ..binary.formats import format_names, has_format_macro, known_systems
from ..model.plan import Limit, Sealing

UNLISTED = "it does not list its macros (-dM -E)"


@dataclass(frozen=True)
class Maker:
    """A compiler of the build: its name in messages, whether isagen knows it, and its predefined macros.

    `macros` is None if the compiler does not list them.
    """

    name: str
    known: bool
    macros: Container[str] | None


def limit_of(system: str | None, makers: Iterable[Maker], no_table: str = "") -> Limit:
    """Return the limit of a build for Meson's `system` by its compilers.

    `system` is None if only compilers are known. `no_table` is the reason why there are no levels above the lowest.
    """
    makers = tuple(makers)
    for maker in makers:
        if not maker.known:
            no_baseline = "" if maker.macros else f", nor its baseline, as {UNLISTED}"
            return Limit(f"isagen does not know the compiler {maker.name}{no_baseline}", opaque=True, foreign=True)
    known = system is None or system in known_systems()
    other = next((maker for maker in makers if maker.macros is None or not has_format_macro(maker.macros)), None)
    if other:
        whose = f"of {other.name}" if known else f"for {system}"
        no_baseline = "" if other.macros else f"; the baseline of {other.name} is unknown, as {UNLISTED}"
        return Limit(f"objects {whose} are not {format_names()}, which isagen reads{no_baseline}", opaque=True)
    if not known:
        return Limit(f"isagen does not know the system {system}", opaque=True)
    return Limit(no_table)


def sealing_of(suffix: str, wanted: bool, limit: Limit, fold: bool) -> Sealing:
    """Return how the levels of a set of kernels are sealed; `wanted` is the Meson option.

    The `suffix` of the set's symbols is unique in a program. `fold` tells whether equal copies are linked once.
    """
    if not wanted:
        return Sealing(reason="switched off by the Meson option isa_seal")
    if limit.opaque:
        return Sealing(reason="isagen does not read objects of this build, and they are of one level")
    # Demanglers accept a suffix of digits.
    return Sealing(project_number=str(zlib.crc32(suffix.encode())), fold=fold)
