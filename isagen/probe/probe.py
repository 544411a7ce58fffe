"""Probing every level of a table with each compiler, in parallel, unless the cache has a valid verdict.

Levels are asked about together: one program for all of a group, compiled under the flags of the highest. GCC and Clang
take nearly all of the time of a probe for the headers of intrinsics, which this reads once. What is compiled,
assembled and linked is the build of the highest level. Of each level below, whose flags are among those of the highest,
the program has the intrinsics, and a run for its macros shows what exactly its flags turn on. That its intrinsics need
no flag of a higher level is not shown.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass
from functools import cache, cached_property, partial

from ..model.codec import from_data
from ..model.plan import Verdict
from ..processors.flags import units
from ..processors.table import Level, Table
from .cache import Cache
from .compiler import Compiler
from .level import Answer, known_without_asking, probe, probe_text, settle

# Part of every cache key: raise it when the way of probing changes.
PROBE_FORMAT = 5
# The clock of file times on Linux, which advances in ticks.
CLOCK_REALTIME_COARSE = 5
Group = tuple[Level, ...]


@dataclass(frozen=True)
class Kept:
    """A verdict as the cache keeps it, with the size and time (nanoseconds) of each header that the probe included."""

    verdict: Verdict
    headers: Mapping[str, tuple[int, int]]


def probe_all(
    table: Table,
    compilers: Iterable[Compiler],
    cache: Cache,
    jobs: int | None = None,
) -> Mapping[tuple[str, str], Verdict]:
    """Probe every level with every compiler, in parallel. Returns verdicts by (level name, language)."""
    return dict(probe_each(table, compilers, cache, jobs))


def probe_each(
    table: Table,
    compilers: Iterable[Compiler],
    cache: Cache,
    jobs: int | None = None,
) -> Iterator[tuple[tuple[str, str], Verdict]]:
    """Probe as `probe_all` does, and yield verdicts in order, each as soon as it is known. Cached ones come first."""
    questions = [question for compiler in compilers for question in _questions(table, compiler)]
    begun = _clock()
    known = {question: question.known(cache) for question in questions}
    unknown = [question for question in questions if known[question] is None]
    with ExitStack() as stack:
        answers: Mapping[_Question, Future[Mapping[str, Verdict]]] = {}
        if unknown:
            answers = _asked(unknown, stack.enter_context(ThreadPoolExecutor(jobs)), cache, begun)
        for question in questions:
            name = question.level.name
            yield (name, question.compiler.language), known[question] or answers[question].result()[name]


def _asked(
    questions: Iterable[_Question], pool: ThreadPoolExecutor, cache: Cache, begun: int
) -> Mapping[_Question, Future[Mapping[str, Verdict]]]:
    """Let compilers answer in parallel; what is known of a question comes with all that is asked together with it.

    The runs for macros come first, so that no thread waits for one that has not begun.
    """
    groups: dict[tuple[Compiler, str], list[_Question]] = {}
    for question in questions:
        groups.setdefault((question.compiler, question.group[0].name), []).insert(0, question)
    settled = {one: pool.submit(one.settled) for group in groups.values() if len(group) > 1 for one in group}
    answers = {}
    for group in groups.values():
        own = {one.level.name: settled[one] for one in group if one in settled}
        answer = pool.submit(_answers, group, own, cache, begun)
        answers.update(dict.fromkeys(group, answer))
    return answers


def _answers(
    questions: Sequence[_Question], settled: Mapping[str, Future[Verdict | None]], cache: Cache, begun: int
) -> Mapping[str, Verdict]:
    """Probe a group of levels, highest first, cache the answers, and return the verdicts by name."""
    levels = tuple(question.level for question in questions)
    found = questions[0].answers(levels, {name: one.result() for name, one in settled.items()})
    for question in questions:
        question.keep(found[question.level.name], cache, begun)
    return {name: verdict for name, (verdict, _) in found.items()}


def baseline_features(table: Table, compilers: Iterable[Compiler]) -> tuple[str, ...]:
    """Return the features that the compilers turn on without any level's flags: what every other object may use."""
    macros = {name: value for compiler in compilers for name, value in compiler.bare_macros.items()}
    return table.features.turned_on(macros)


def _common(table: Table, compiler: Compiler, bare: Mapping[str, str]) -> str:
    """Return a hash of what the answers to all questions about a table and a compiler depend on."""
    known = table.features
    return Cache.key(
        [
            PROBE_FORMAT,
            compiler.identity,
            compiler.language,
            compiler.command,
            compiler.args,
            sorted(bare.items()),
            sorted((f.name, f.macros) for f in known.features.values()),
            known.ignored_macros,
            known.cpu_macros,
            sorted(known.never_required),
        ]
    )


def _questions(table: Table, compiler: Compiler) -> Iterator[_Question]:
    """Yield a question about each level, lowest first."""
    bare = compiler.bare_macros
    common = cache(partial(_common, table, compiler, bare))
    group_of = {level.name: group for group in groups_of(table, compiler, bare) for level in group}
    for level in table.levels:
        yield _Question(table, level, group_of.get(level.name, (level,)), compiler, bare, common)


class _Question:
    """One level of a table, and one compiler; the answer is cached under the hash of its inputs.

    `group` are the levels that may be asked about together, `bare` the macros without the flags of any level, and
    `common` returns the hash of what all levels depend on.
    """

    def __init__(
        self,
        table: Table,
        level: Level,
        group: Group,
        compiler: Compiler,
        bare: Mapping[str, str],
        common: Callable[[], str],
    ) -> None:
        self.level, self.group, self.compiler = level, group, compiler
        self._table, self._bare, self._common = table, bare, common

    @cached_property
    def _key(self) -> str:
        table, level = self._table, self.level
        return Cache.key([self._common(), *self._of_group, asdict(level), table.required_features(level.name)])

    @cached_property
    def _of_group(self) -> tuple[object, ...]:
        return probe_text(self._table, self.group), question_of(self.group, self.compiler)

    def known(self, cache: Cache) -> Verdict | None:
        """Return the verdict that needs no compiler, or that of an earlier build, if it is still good."""
        verdict = known_without_asking(self._table, self.level, self.compiler, self._bare)
        if verdict is not None:
            return verdict
        with suppress(ValueError):  # no answer yet, a file of another version, or a damaged one
            kept = from_data(Kept, cache.get(self._key))
            if states_of(kept.headers) == kept.headers:
                return kept.verdict
        return None

    def settled(self) -> Verdict | None:
        """Ask for the level's macros."""
        return settle(self._table, self.level, self.compiler, self._bare)

    def answers(self, levels: Group, settled: Mapping[str, Verdict | None]) -> Mapping[str, Answer]:
        """Ask about several levels, this one the highest."""
        return ask(self._table, levels, self.compiler, self._bare, settled)

    def keep(self, answer: Answer, cache: Cache, begun: int) -> None:
        """Keep an answer to this question, if it is one to keep: if no header changed since probing began."""
        verdict, headers = answer
        if headers is not None and not any(_changed_at(header) >= begun for header in headers):
            cache.put(self._key, asdict(Kept(verdict, states_of(headers))))


def _clock() -> int:
    """Return the time by the clock of files."""
    return time.clock_gettime_ns(CLOCK_REALTIME_COARSE) if sys.platform == "linux" else time.time_ns()


def _changed_at(path: str) -> int:
    try:
        return os.stat(path).st_ctime_ns
    except OSError:  # a header may be gone
        return 0


def states_of(paths: Iterable[str]) -> dict[str, tuple[int, int]]:
    """Return the sizes and times (nanoseconds) of the files that exist."""
    found = {}
    for path in paths:
        with suppress(OSError):
            state = os.stat(path)
            found[path] = (state.st_size, state.st_mtime_ns)
    return found


def groups_of(table: Table, compiler: Compiler, bare: Mapping[str, str]) -> list[Group]:
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
    table: Table, group: Group, compiler: Compiler, bare: Mapping[str, str], settled: Mapping[str, Verdict | None]
) -> dict[str, Answer]:
    """Return the answers to a group of levels by name; `settled` is what their macros tell.

    Where not all is well with several of them, each is asked by itself.
    """
    found = _together(table, group, compiler, settled)
    return {one.name: found.get(one.name) or probe(table, one, compiler, bare) for one in group}


def _together(
    table: Table, group: Group, compiler: Compiler, settled: Mapping[str, Verdict | None]
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
    return {one.name: (own, outcome.headers) for one, own in able}


def question_of(group: Sequence[Level], compiler: Compiler) -> list[list[object]]:
    """Return, as plain data, what the answer to each level of a group depends on besides the level itself."""
    return [[one.name, sorted(_all_flags(one, compiler)), one.probe] for one in group]


def _all_flags(level: Level, compiler: Compiler) -> set[tuple[str, ...]]:
    dialect = compiler.dialect
    return set(units((*level.flags[dialect], *level.optional_flags.get(dialect, ()))))
