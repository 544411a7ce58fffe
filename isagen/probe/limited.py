"""The verdicts of a build that has its lowest level alone, where isagen cannot read objects or know a compiler.

Nothing is linked here: a program for a system that isagen does not know may need more than a probe can name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ..model.plan import Limit, Verdict
from ..processors.table import Table
from .compiler import Compiler


def limited_verdicts(table: Table, compilers: Iterable[Compiler], limit: Limit) -> Mapping[tuple[str, str], Verdict]:
    """Return verdicts by (level name, language): the lowest level is built, the others are not, for the limit's reason.

    A compiler that the limit calls foreign gets no flags.
    """
    found: dict[tuple[str, str], Verdict] = {}
    for compiler in compilers:
        found |= {(level.name, compiler.language): Verdict(False, limit.reason) for level in table.levels}
        found[table.base.name, compiler.language] = _lowest(table, compiler, limit)
    return found


def _lowest(table: Table, compiler: Compiler, limit: Limit) -> Verdict:
    """Return the verdict on the lowest level, without flags that the compiler refuses."""
    flags = () if limit.foreign else table.base.flags.get(compiler.dialect, ())
    flags = flags if flags and compiler.accepts(flags).ok else ()
    features: Iterable[str] = ()
    if compiler.dialect == "msvc":
        features = table.required_features(table.base.name) if flags else ()
    elif not limit.foreign:
        macros, _ = compiler.macros(flags)
        features = (name for name, feature in table.features.features.items() if feature.is_on(macros))
    return Verdict(True, "the lowest level is always built", flags, (), tuple(features))
