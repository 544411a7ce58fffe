"""Probes every level of a table with each compiler, in parallel, unless the cache has a valid verdict.

A probe spends nearly all of its time on the headers of intrinsics. To read the headers once, one program probes a group
of levels. It contains the intrinsics of all these levels, is compiled and assembled under the flags of the highest
level, and is linked without flags of levels. A lower level of the group has no flag that the highest level lacks. Each
level's flags are also tried alone: the macros that the compiler then predefines (-dM -E) show the features that are on.
A group does not show that the intrinsics of a lower level compile without the flags of a higher one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from ..model.codec import from_data
from ..model.plan import Limit, Verdict
from ..processors.flags import units
from ..processors.table import Level, Table
from .cache import Cache
from .compiler import Compiler
from .level import build_probe, check_flags, probe_text, verdict_without_run

# Part of every cache key: raise it when the way of probing changes.
PROBE_FORMAT = 13


def probe_all(table: Table, compilers: Iterable[Compiler], cache: Cache) -> Mapping[tuple[str, str], Verdict]:
    """Probe every level with every compiler, in parallel. Returns verdicts by (level name, language)."""
    return dict(probe_each(table, compilers, cache))


def probe_each(table: Table, compilers: Iterable[Compiler], cache: Cache) -> Iterator[tuple[tuple[str, str], Verdict]]:
    """Probe as `probe_all` does. Yield the verdicts in the order of levels; none waits for later ones."""
    known: dict[tuple[str, str], Verdict | None] = {}
    groups: list[Group] = []
    for compiler in compilers:
        known |= {
            (level.name, compiler.language): verdict_without_run(table, level, compiler) for level in table.levels
        }
        groups += [Group(table, compiler, levels) for levels in reversed(groups_of(table, compiler))]
    known |= {group.place(level): group.cached_verdict(level, cache) for group in groups for level in group.levels}
    with ThreadPoolExecutor() as pool:
        # The probe of a group waits for the checks of its levels. All checks are submitted before any group, so that
        # waiting groups cannot occupy the whole pool.
        checks: dict[Group, list[tuple[Level, Future[Verdict]]]] = {}
        for group in groups:
            missing = [level for level in group.levels if known[group.place(level)] is None]
            if missing:
                checks[group] = [(level, pool.submit(check_flags, table, level, group.compiler)) for level in missing]
        futures = {}
        for group, levels in checks.items():
            future = pool.submit(group.probe, levels, cache)
            futures.update(dict.fromkeys((group.place(level) for level, _ in levels), future))
        for place, verdict in known.items():
            yield place, verdict or futures[place].result()[place[0]]


@dataclass(frozen=True, eq=False)
class Group:
    """Levels, highest first, that one program can probe with a compiler."""

    table: Table
    compiler: Compiler
    levels: tuple[Level, ...]

    def place(self, level: Level) -> tuple[str, str]:
        """Return the key of the verdict on a level."""
        return level.name, self.compiler.language

    @cached_property
    def _inputs(self) -> list[Any]:
        """Everything on which the verdicts of all levels of the group depend, for their cache keys."""
        compiler, features = self.compiler, self.table.features
        return [
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
            probe_text(self.table, self.levels),
            [[level.name, sorted(all_flags(level)), level.probe] for level in self.levels],
        ]

    def _key(self, level: Level) -> str:
        return Cache.key([self._inputs, asdict(level), self.table.required_features(level.name)])

    def cached_verdict(self, level: Level, cache: Cache) -> Verdict | None:
        """Return the cached verdict on a level; None if the cache has no valid one."""
        with suppress(ValueError):
            return from_data(Verdict, cache.get(self._key(level)))
        return None

    def probe(self, provisional: Iterable[tuple[Level, Future[Verdict]]], cache: Cache) -> Mapping[str, Verdict]:
        """Probe levels of the group, highest first, and return the verdicts by level name.

        The verdict on a level that fails is not cached: its cause, such as a header, may change while the key does not.
        """
        verdicts = [(level, future.result()) for level, future in provisional]
        together = self._probed_together(verdicts)
        final = {}
        for level, verdict in verdicts:
            if level.name not in together:
                verdict = build_probe(self.table, level, verdict, self.compiler)
            final[level.name] = verdict
            if verdict.available:
                cache.put(self._key(level), asdict(verdict))
        return final

    def _probed_together(self, provisional: Sequence[tuple[Level, Verdict]]) -> set[str]:
        """Return the names of the levels that one program shows to be available."""
        highest = provisional[0][1]
        flags = set(units(highest.flags))
        members = [(level, verdict) for level, verdict in provisional if verdict.available]
        members = [(level, verdict) for level, verdict in members if set(units(verdict.flags)) <= flags]
        if not highest.available or len(members) < 2:
            return set()
        outcome = self.compiler.build(probe_text(self.table, [level for level, _ in members]), highest.flags)
        return {level.name for level, _ in members} if outcome.ok else set()


def limited_verdicts(table: Table, compilers: Iterable[Compiler], limit: Limit) -> Mapping[tuple[str, str], Verdict]:
    """Return the verdicts of a build that has only its lowest level, by (level name, language).

    The other levels are unavailable for the reason of the `limit`. Nothing is linked: on a system that isagen does not
    know, a link may need options that isagen does not know.
    """
    verdicts: dict[tuple[str, str], Verdict] = {}
    for compiler in compilers:
        verdicts |= {(level.name, compiler.language): Verdict(False, limit.reason) for level in table.levels}
        verdicts[table.lowest.name, compiler.language] = _lowest_verdict(table, compiler, limit)
    return verdicts


def _lowest_verdict(table: Table, compiler: Compiler, limit: Limit) -> Verdict:
    """Return the verdict on the lowest level; without its flags if the limit is `foreign` or they are rejected."""
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
    """Return the features that code may use if it is compiled without flags of a level."""
    macros = {name: value for compiler in compilers for name, value in compiler.baseline_macros.items()}
    return table.features.turned_on(macros)


def groups_of(table: Table, compiler: Compiler) -> list[tuple[Level, ...]]:
    """Return the levels for which a compiler has to run, in groups, the highest level of each group first.

    The highest level of a group requires the other levels, and has all their flags. A level with a flag that the
    highest lacks goes into another group.
    """
    rest = {level.name: level for level in table.levels if verdict_without_run(table, level, compiler) is None}
    groups = []
    while rest:
        _, highest = rest.popitem()
        flags, below = all_flags(highest), reversed(table.below(highest.name))
        names = [level.name for level in below if level.name in rest and all_flags(level) <= flags]
        groups.append((highest, *map(rest.pop, names)))
    return groups


def all_flags(level: Level) -> set[tuple[str, ...]]:
    """Return the flags of a level with its optional ones."""
    return set(units((*level.flags["gnu"], *level.optional_flags.get("gnu", ()))))
