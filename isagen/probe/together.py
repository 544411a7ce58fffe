"""Levels that are asked about together: one program for all of them, compiled under the flags of the highest.

GCC and Clang take nearly all of the time of a probe for the headers of intrinsics, which this reads once. What is
compiled, assembled and linked is the build of the highest level. Of each level below, whose flags are among those of
the highest, the program has the intrinsics, and a run for its macros shows what exactly its flags turn on. That its
intrinsics need no flag of a higher level is not shown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..processors.flags import units
from ..processors.table import Level, Table
from .compiler import Compiler
from .level import Answer, Settled, available, known_without_asking, probe, probe_text

Group = tuple[Level, ...]


def groups_of(table: Table, compiler: Compiler, bare: frozenset[str]) -> list[Group]:
    """Return the levels that a compiler has to be asked about, in groups, the highest level of each first.

    The others of a group are levels that the highest requires, and their flags are among its own. A level whose flags
    stand alone, or replace those of a level below, begins a group. Without macros, each level is asked by itself.
    """
    rest = {one.name: one for one in table.levels if known_without_asking(table, one, compiler, bare) is None}
    groups = []
    while rest:
        _, highest = rest.popitem()
        flags = _all_flags(highest, compiler)
        below = reversed(table.below(highest.name)) if compiler.dialect == "gnu" else ()
        others = [rest.pop(one.name) for one in below if one.name in rest and _all_flags(one, compiler) <= flags]
        groups.append((highest, *others))
    return groups


def ask(
    table: Table, group: Group, compiler: Compiler, bare: frozenset[str], settled: Mapping[str, Settled | None]
) -> dict[str, Answer]:
    """Return the answers to a group of levels by name; `settled` is what their macros tell.

    Where not all is well with several of them, each is asked by itself.
    """
    found = _together(table, group, compiler, settled)
    return {one.name: found.get(one.name) or probe(table, one, compiler, bare) for one in group}


def _together(
    table: Table, group: Group, compiler: Compiler, settled: Mapping[str, Settled | None]
) -> dict[str, Answer]:
    """Return the answers to those levels of a group that one program shows to be available."""
    highest = settled.get(group[0].name)
    if highest is None or len(group) < 2:
        return {}
    flags = set(units(highest.flags))
    able = [
        (one, own) for one in group if (own := settled.get(one.name)) is not None and set(units(own.flags)) <= flags
    ]
    if len(able) < 2:
        return {}
    outcome = compiler.builds(probe_text(table, [one for one, _ in able]), highest.flags)
    if not outcome.ok:
        return {}
    return {one.name: (available(compiler, own), outcome.headers) for one, own in able}


def question_of(group: Sequence[Level], compiler: Compiler) -> list[list[object]]:
    """Return, as plain data, what the answer to each level of a group depends on besides the level itself."""
    return [[one.name, sorted(_all_flags(one, compiler)), one.probe] for one in group]


def _all_flags(level: Level, compiler: Compiler) -> set[tuple[str, ...]]:
    dialect = compiler.dialect
    return set(units((*level.flags[dialect], *level.optional_flags.get(dialect, ()))))
