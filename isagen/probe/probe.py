"""Probing every level of a table with each compiler, in parallel, unless the cache has a valid verdict.

A probe spends nearly all of its time on the headers of intrinsics. To read them once, one program probes a group of
levels: it contains the intrinsics of them all, is compiled and assembled under the flags of the highest, and is linked
without them. Each lower level has only flags that the highest has too, and the macros that the compiler predefines
under its own flags (-dM -E) show which features these turn on. One fact is not shown: that the intrinsics of a lower
level need no flag of a higher one.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cached_property

from ..model.codec import from_data
from ..model.plan import Limit, Verdict
from ..processors.flags import units
from ..processors.table import Level, Table
from .cache import Cache
from .compiler import Compiler
from .level import ProbeResult, build_probe, check_flags, probe_text, verdict_without_run

# Part of every cache key: raise it when the way of probing changes.
PROBE_FORMAT = 6
Group = tuple[Level, ...]


@dataclass(frozen=True)
class CachedVerdict:
    """A verdict, with the size and mtime (nanoseconds) of each header that the probe's program included."""

    verdict: Verdict
    headers: Mapping[str, tuple[int, int]]


def probe_all(table: Table, compilers: Iterable[Compiler], cache: Cache) -> Mapping[tuple[str, str], Verdict]:
    """Probe every level with every compiler, in parallel. Returns verdicts by (level name, language)."""
    return dict(probe_each(table, compilers, cache))


def probe_each(table: Table, compilers: Iterable[Compiler], cache: Cache) -> Iterator[tuple[tuple[str, str], Verdict]]:
    """Probe as `probe_all` does, and yield the verdicts in order, none waiting for those after it."""
    probes = [probe for compiler in compilers for probe in _probes(table, compiler)]
    start = time.time_ns()
    verdicts = {probe: probe.known_verdict(cache) for probe in probes}
    missing = [probe for probe in probes if verdicts[probe] is None]
    with ThreadPoolExecutor() as pool:
        futures = _started(missing, pool, cache, start)
        for probe in probes:
            name = probe.level.name
            yield (name, probe.compiler.language), verdicts[probe] or futures[probe].result()[name]


def _started(
    probes: Iterable[_Probe], pool: ThreadPoolExecutor, cache: Cache, start: int
) -> Mapping[_Probe, Future[Mapping[str, Verdict]]]:
    """Start the compilers in parallel; return for each probe the future verdicts of its group, by level name.

    The task of a group waits for `check_flags` tasks. As all of these are submitted first, the pool cannot deadlock.
    """
    provisional = {probe: pool.submit(probe.check_flags) for probe in probes}
    groups: dict[tuple[Compiler, str], list[_Probe]] = {}
    for probe in provisional:
        groups.setdefault((probe.compiler, probe.group[0].name), []).insert(0, probe)
    futures = {}
    for group in groups.values():
        future = pool.submit(_group_verdicts, group, [provisional[probe] for probe in group], cache, start)
        futures.update(dict.fromkeys(group, future))
    return futures


def _group_verdicts(
    probes: Sequence[_Probe], provisional: Sequence[Future[Verdict]], cache: Cache, start: int
) -> Mapping[str, Verdict]:
    """Probe a group of levels, highest first, cache the verdicts, and return them by level name."""
    table, compiler = probes[0].table, probes[0].compiler
    verdicts = [(probe.level, future.result()) for probe, future in zip(probes, provisional, strict=True)]
    together = _probed_together(table, verdicts, compiler)
    final = {}
    for probe, (level, verdict) in zip(probes, verdicts, strict=True):
        probed = together.get(level.name) or build_probe(table, level, verdict, compiler)
        probe.write(probed, cache, start)
        final[level.name] = probed.verdict
    return final


def _probed_together(
    table: Table, provisional: Sequence[tuple[Level, Verdict]], compiler: Compiler
) -> dict[str, ProbeResult]:
    """Return the results of the levels that one program shows to be available; `provisional` has the highest first."""
    _, highest = provisional[0]
    flags = set(units(highest.flags))
    members = [(level, verdict) for level, verdict in provisional if verdict.available]
    members = [(level, verdict) for level, verdict in members if set(units(verdict.flags)) <= flags]
    if not highest.available or len(members) < 2:
        return {}
    outcome = compiler.build(probe_text(table, [level for level, _ in members]), highest.flags)
    return {level.name: ProbeResult(verdict, outcome.headers) for level, verdict in members} if outcome.ok else {}


def limited_verdicts(table: Table, compilers: Iterable[Compiler], limit: Limit) -> Mapping[tuple[str, str], Verdict]:
    """Return the verdicts of a build with its lowest level alone, by (level name, language).

    The other levels are unavailable for the reason of the `limit`. Nothing is linked: a link for a system that isagen
    does not know may need unknown options.
    """
    verdicts: dict[tuple[str, str], Verdict] = {}
    for compiler in compilers:
        verdicts |= {(level.name, compiler.language): Verdict(False, limit.reason) for level in table.levels}
        verdicts[table.lowest.name, compiler.language] = _lowest_verdict(table, compiler, limit)
    return verdicts


def _lowest_verdict(table: Table, compiler: Compiler, limit: Limit) -> Verdict:
    """Return the verdict on the lowest level: without flags if the limit is `foreign` or the compiler rejects them."""
    flags = () if limit.foreign else table.lowest.flags.get(compiler.dialect, ())
    flags = flags if flags and compiler.accepts(flags).ok else ()
    features: Iterable[str] = ()
    if compiler.dialect == "msvc":
        features = table.required_features(table.lowest.name) if flags else ()
    elif not limit.foreign:
        macros, _ = compiler.macros(flags)
        features = (name for name, feature in table.features.features.items() if feature.is_on(macros))
    return Verdict(True, "the lowest level is always built", flags, (), tuple(features))


def baseline_features(table: Table, compilers: Iterable[Compiler]) -> tuple[str, ...]:
    """Return the features that code may use if it is compiled without flags of a level."""
    macros = {name: value for compiler in compilers for name, value in compiler.baseline_macros.items()}
    return table.features.turned_on(macros)


def _probes(table: Table, compiler: Compiler) -> Iterator[_Probe]:
    """Yield a probe of each level, lowest first."""
    features = table.features
    common_key = Cache.key(
        [
            PROBE_FORMAT,
            compiler.identity,
            compiler.language,
            compiler.command,
            compiler.args,
            sorted(compiler.baseline_macros.items()),
            sorted((feature.name, feature.macros) for feature in features.features.values()),
            features.ignored_macros,
            features.cpu_macros,
            sorted(features.never_required),
        ]
    )
    group_of = {level.name: group for group in groups_of(table, compiler) for level in group}
    for level in table.levels:
        yield _Probe(table, level, group_of.get(level.name, (level,)), compiler, common_key)


@dataclass(frozen=True, eq=False)
class _Probe:
    """The probe of one level of a table with one compiler.

    One program may probe all levels of its `group`. `common_key` is the cache key of all inputs that the table's levels
    share.
    """

    table: Table
    level: Level
    group: Group
    compiler: Compiler
    common_key: str

    @cached_property
    def _key(self) -> str:
        group = [[level.name, sorted(_all_flags(level, self.compiler)), level.probe] for level in self.group]
        required = self.table.required_features(self.level.name)
        return Cache.key([self.common_key, probe_text(self.table, self.group), group, asdict(self.level), required])

    def known_verdict(self, cache: Cache) -> Verdict | None:
        """Return a verdict without a run of the compiler, or a cached one whose headers did not change; else None."""
        verdict = verdict_without_run(self.table, self.level, self.compiler)
        if verdict is not None:
            return verdict
        with suppress(ValueError, OSError):  # the cache has no valid value, or a header is gone
            cached = from_data(CachedVerdict, cache.get(self._key))
            if states_of(cached.headers) == cached.headers:
                return cached.verdict
        return None

    def check_flags(self) -> Verdict:
        """Return the verdict by the level's flags and macros alone."""
        return check_flags(self.table, self.level, self.compiler)

    def write(self, probed: ProbeResult, cache: Cache, start: int) -> None:
        """Cache a verdict, unless a compilation failed, or a header changed since the `start` (in ns) of probing."""
        headers = probed.headers
        with suppress(OSError):  # a header is gone
            if headers is not None and all(os.stat(header).st_ctime_ns < start for header in headers):
                cache.put(self._key, asdict(CachedVerdict(probed.verdict, states_of(headers))))


def states_of(paths: Iterable[str]) -> dict[str, tuple[int, int]]:
    """Return the sizes and mtimes (nanoseconds) of files. Raises OSError if one is missing."""
    return {path: (status.st_size, status.st_mtime_ns) for path in paths for status in [os.stat(path)]}


def groups_of(table: Table, compiler: Compiler) -> list[Group]:
    """Return the levels for which a compiler has to run, in groups, the highest level of each group first.

    The highest level requires the others of its group, and has all their flags. A lower level with a flag that the
    highest lacks goes into another group. With MSVC, whose macros do not show features, each level is a group.
    """
    rest = {level.name: level for level in table.levels if verdict_without_run(table, level, compiler) is None}
    groups = []
    while rest:
        _, highest = rest.popitem()
        flags = _all_flags(highest, compiler)
        below = reversed(table.below(highest.name)) if compiler.dialect == "gnu" else ()
        names = [level.name for level in below if level.name in rest and _all_flags(level, compiler) <= flags]
        groups.append((highest, *map(rest.pop, names)))
    return groups


def _all_flags(level: Level, compiler: Compiler) -> set[tuple[str, ...]]:
    dialect = compiler.dialect
    return set(units((*level.flags[dialect], *level.optional_flags.get(dialect, ()))))
