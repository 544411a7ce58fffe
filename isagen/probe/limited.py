"""The verdicts of a build that has its lowest level alone, where isagen cannot read objects or know a compiler.

Nothing is linked here: a program for a system that isagen does not know may need more than a probe can name.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from ..model.plan import Limit, Verdict
from ..processors.table import Level, Table
from .compiler import Compiler


def limited_verdicts(table: Table, compilers: Iterable[Compiler], limit: Limit) -> Mapping[tuple[str, str], Verdict]:
    """Return verdicts by (level name, language): the lowest level is built, the others are not, for the limit's reason.

    A compiler that the limit calls foreign gets no flags.
    """
    found = {}
    for compiler in compilers:
        lowest = _lowest(table, compiler, limit)
        for level in table.levels:
            found[level.name, compiler.language] = lowest if level is table.base else Verdict(False, limit.reason)
    return found


def _lowest(table: Table, compiler: Compiler, limit: Limit) -> Verdict:
    reason = "the lowest level is always built"
    if limit.foreign:
        return Verdict(True, reason)
    flags = _flags(table.base, compiler)
    if compiler.dialect == "msvc":
        return Verdict(True, reason, flags, (), table.required_features(table.base.name) if flags else ())
    return Verdict(True, reason, flags, (), tuple(_turned_on(table, compiler, flags)))


def _flags(level: Level, compiler: Compiler) -> tuple[str, ...]:
    """Return the level's flags, or none where the compiler refuses them."""
    flags = level.flags.get(compiler.dialect, ())
    return flags if flags and compiler.accepts(flags).ok else ()


def _turned_on(table: Table, compiler: Compiler, flags: tuple[str, ...]) -> Iterator[str]:
    """Yield the features, in their order, that the compiler's macros name under `flags`."""
    macros, _ = compiler.macros(flags)
    return (name for name, feature in table.features.features.items() if feature.is_on(macros))
