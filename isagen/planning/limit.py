"""Whether a build has all levels that its compilers can build, or its lowest level alone, and why.

isagen reads objects to seal and audit levels, and its tables hold the options and macros of compilers that it knows.
Where it cannot, the project builds for its baseline instead.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from dataclasses import dataclass

from ..binary.formats import are_made_under, format_names, known_systems
from ..model.plan import Limit


@dataclass(frozen=True)
class Maker:
    """A compiler of the build: how messages name it, whether isagen knows it, and the macros that it predefines.

    There are no `macros` where they cannot be read.
    """

    name: str
    known: bool
    macros: Container[str] | None


def limit_of(system: str, makers: Iterable[Maker], no_table: str = "") -> Limit:
    """Return what limits a build for Meson's `system` by its compilers; `no_table` says why there are no levels."""
    makers = tuple(makers)
    blind = next((maker for maker in makers if maker.macros is None), None)
    unread = f"; the baseline is unknown, because {blind.name} does not list its macros (-dM -E)" if blind else ""
    for maker in makers:
        if not maker.known:
            return Limit(f"isagen does not know the compiler {maker.name}{unread}", opaque=True, foreign=True)
    other = next((m for m in makers if m.macros is not None and not are_made_under(m.macros)), None)
    unknown = bool(system) and system not in known_systems()
    if unknown and (other or blind):
        return Limit(f"objects of {system} are not {format_names()}, which isagen reads{unread}", opaque=True)
    if unknown:
        return Limit(f"isagen does not know the system {system}", opaque=True)
    if other:
        return Limit(f"{other.name} makes objects that are not {format_names()}, which isagen reads", opaque=True)
    return Limit(no_table)
