"""Probes the levels of a table with each compiler, in parallel, except levels whose verdict is cached or needs no run.

A probe spends nearly all of its time on the headers of intrinsics. To read the headers once, one program probes a group
of levels. It contains the intrinsics of all these levels, is compiled and assembled under the flags of the highest
level, and is linked without flags of levels. Each level's flags are also tried alone: the macros that the compiler then
predefines (-dM -E) show the features that are on. A group does not show that the intrinsics of a lower level compile
without the flags of a higher one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict
from functools import partial

from ..model.codec import from_data
from ..model.plan import Limit, Verdict
from ..processors.flags import flags_in
from ..processors.table import Table
from .cache import Cache
from .compiler import Compiler
from .level import build_probe, check_flags, probe_text, verdict_without_run

# Part of every cache key: raise it when the way of probing changes.
PROBE_FORMAT = 15


def probe_all(table: Table, compilers: Iterable[Compiler], cache: Cache) -> Mapping[tuple[str, str], Verdict]:
    """Probe every level with every compiler, in parallel. Returns verdicts by (level name, language)."""
    compilers = tuple(compilers)
    with ThreadPoolExecutor() as pool:
        found = pool.map(lambda compiler: _probe(table, compiler, cache), compilers)
        return {
            (name, compiler.language): verdict
            for compiler, verdicts in zip(compilers, found, strict=True)
            for name, verdict in verdicts.items()
        }


def _probe(table: Table, compiler: Compiler, cache: Cache) -> dict[str, Verdict]:
    """Only available levels are cached: a failure may have a cause outside the key, such as a missing header."""
    known = {level.name: verdict_without_run(table, level, compiler) for level in table.levels}
    asked = [name for name, verdict in known.items() if verdict is None]
    key = _key(table, compiler) if asked else ""
    with suppress(ValueError):
        cached = from_data(Mapping[str, Verdict], cache.get(key))  # type: ignore[type-abstract]
        known |= {name: verdict for name, verdict in cached.items() if name in asked}
    missing = [name for name, verdict in known.items() if verdict is None]
    with ThreadPoolExecutor() as pool:
        checked = pool.map(lambda name: check_flags(table, table.level(name), compiler), missing)
        known |= zip(missing, checked, strict=True)
        available = {name: verdict for name in missing if (verdict := known[name]) and verdict.available}
        for found in pool.map(partial(_probe_group, table, compiler), groups_of(table, available)):
            known |= found
    verdicts = {name: verdict for name, verdict in known.items() if verdict is not None}
    if missing:
        cache.put(key, {name: asdict(verdicts[name]) for name in asked if verdicts[name].available})
    return verdicts


def _key(table: Table, compiler: Compiler) -> str:
    features = table.features
    return Cache.key(
        [
            PROBE_FORMAT,
            compiler.identity,
            compiler.language,
            compiler.command,
            compiler.args,
            sorted(compiler.baseline_macros.items()),
            sorted((feature.name, feature.macros, feature.needs) for feature in features.features.values()),
            features.ignored_macros,
            features.cpu_macros,
            sorted(features.never_required),
            table.prologue,
            [[asdict(level), table.required_features(level.name)] for level in table.levels],
        ]
    )


def groups_of(table: Table, available: Mapping[str, Verdict]) -> list[dict[str, Verdict]]:
    """Return the verdicts on levels that `check_flags` found available, in groups, each with its highest level first.

    The highest level of a group requires the other levels, and has all their flags.
    """
    rest = dict(available)
    groups = []
    while rest:
        name, highest = rest.popitem()
        flags = set(flags_in(highest.flags))
        below = [level.name for level in reversed(table.below(name)) if level.name in rest]
        group = {lower: rest.pop(lower) for lower in below if set(flags_in(rest[lower].flags)) <= flags}
        groups.append({name: highest, **group})
    return groups


def _probe_group(table: Table, compiler: Compiler, group: Mapping[str, Verdict]) -> Mapping[str, Verdict]:
    """Return the final verdicts on a group's levels: from one program for all or, if it fails, from one for each."""
    highest = next(iter(group.values()))
    if len(group) > 1 and compiler.build(probe_text(table, map(table.level, group)), highest.flags).ok:
        return group
    return {name: build_probe(table, table.level(name), verdict, compiler) for name, verdict in group.items()}


def limited_verdicts(table: Table, compilers: Iterable[Compiler], limit: Limit) -> Mapping[tuple[str, str], Verdict]:
    """Return the verdicts of a build that has only the table's lowest level, by (level name, language).

    The other levels are unavailable for the reason of the `limit`. Nothing is linked: on a system that isagen does not
    know, a link may need options that isagen does not know.
    """
    verdicts: dict[tuple[str, str], Verdict] = {}
    for compiler in compilers:
        verdicts |= {(level.name, compiler.language): Verdict(False, limit.reason) for level in table.levels}
        verdicts[table.lowest.name, compiler.language] = _lowest_verdict(table, compiler, limit)
    return verdicts


def _lowest_verdict(table: Table, compiler: Compiler, limit: Limit) -> Verdict:
    flags = () if limit.foreign else table.lowest.flags.get(compiler.dialect, ())
    flags = flags if flags and compiler.accepts(flags).ok else ()
    features: Iterable[str] = ()
    if compiler.dialect == "msvc":
        features = table.required_features(table.lowest.name) if flags else ()
    elif not limit.foreign:
        macros, _ = compiler.macros(flags)
        features = table.features.with_needs(name for name, one in table.features.features.items() if one.is_on(macros))
    return Verdict(True, "the lowest level is always built", flags, (), tuple(features))


def baseline_features(table: Table, compilers: Iterable[Compiler]) -> tuple[str, ...]:
    """Return the features that at least one of the `compilers` turns on without flags of a level."""
    macros = {name: value for compiler in compilers for name, value in compiler.baseline_macros.items()}
    return table.features.turned_on(macros)
