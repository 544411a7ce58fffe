"""Whether a build has all levels that its compilers can build, or its lowest level alone, and why.

isagen reads objects to seal and audit levels, and its tables hold the options and macros of compilers that it knows.
Where it cannot, the project builds for its baseline instead.
"""

from __future__ import annotations

from collections.abc import Container, Iterable

from ..binary.formats import are_made_under, format_names, known_systems
from ..model.frozen import dataclass
from ..model.plan import Limit

UNLISTED = "it does not list its macros (-dM -E)"


@dataclass(frozen=True)
class Maker:
    """A compiler of the build: how messages name it, whether isagen knows it, and the macros that it predefines.

    There are no `macros` where they cannot be read.
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
    other = next((maker for maker in makers if maker.macros is None or not are_made_under(maker.macros)), None)
    if other:
        whose = f"of {other.name}" if known else f"for {system}"
        blind = "" if other.macros else f"; the baseline of {other.name} is unknown, as {UNLISTED}"
        return Limit(f"objects {whose} are not {format_names()}, which isagen reads{blind}", opaque=True)
    if not known:
        return Limit(f"isagen does not know the system {system}", opaque=True)
    return Limit(no_table)
