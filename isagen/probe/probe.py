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
from .level import Answer, build, check_flags, known_without_asking, probe_text

# Part of every cache key: raise it when the way of probing changes.
PROBE_FORMAT = 6
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
    """Let compilers answer in parallel; the answer to a question comes with those of its group.

    The runs for flags and macros come first, so that no thread waits for one that has not begun.
    """
    provisional = {question: pool.submit(question.provisional) for question in questions}
    groups: dict[tuple[Compiler, str], list[_Question]] = {}
    for question in provisional:
        groups.setdefault((question.compiler, question.group[0].name), []).insert(0, question)
    answers = {}
    for group in groups.values():
        answer = pool.submit(_answers, group, [provisional[one] for one in group], cache, begun)
        answers.update(dict.fromkeys(group, answer))
    return answers


def _answers(
    questions: Sequence[_Question], provisional: Sequence[Future[Verdict]], cache: Cache, begun: int
) -> Mapping[str, Verdict]:
    """Build the programs of a group of levels, highest first, cache the answers, and return the verdicts by name."""
    table, compiler = questions[0].table, questions[0].compiler
    verdicts = [(question.level, one.result()) for question, one in zip(questions, provisional, strict=True)]
    together = _together(table, verdicts, compiler)
    found = {}
    for question, (level, verdict) in zip(questions, verdicts, strict=True):
        answer = together.get(level.name) or build(table, level, verdict, compiler)
        question.keep(answer, cache, begun)
        found[level.name] = answer[0]
    return found


def _together(table: Table, provisional: Sequence[tuple[Level, Verdict]], compiler: Compiler) -> dict[str, Answer]:
    """Return the answers to those levels, highest first, that one program shows to be available."""
    _, highest = provisional[0]
    flags = set(units(highest.flags))
    able = [(level, one) for level, one in provisional if one.available and set(units(one.flags)) <= flags]
    if not highest.available or len(able) < 2:
        return {}
    outcome = compiler.builds(probe_text(table, [level for level, _ in able]), highest.flags)
    return {level.name: (verdict, outcome.headers) for level, verdict in able} if outcome.ok else {}


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
        self.table, self._base_macros, self._common = table, bare, common

    @cached_property
    def _key(self) -> str:
        table, level = self.table, self.level
        return Cache.key([self._common(), *self._of_group, asdict(level), table.required_features(level.name)])

    @cached_property
    def _of_group(self) -> tuple[object, ...]:
        return probe_text(self.table, self.group), question_of(self.group, self.compiler)

    def known(self, cache: Cache) -> Verdict | None:
        """Return the verdict that needs no compiler, or that of an earlier build, if it is still good."""
        verdict = known_without_asking(self.table, self.level, self.compiler, self._base_macros)
        if verdict is not None:
            return verdict
        with suppress(ValueError):  # no answer yet, a file of another version, or a damaged one
            kept = from_data(Kept, cache.get(self._key))
            if states_of(kept.headers) == kept.headers:
                return kept.verdict
        return None

    def provisional(self) -> Verdict:
        """Ask what the level's flags turn on."""
        return check_flags(self.table, self.level, self.compiler, self._base_macros)

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


def question_of(group: Sequence[Level], compiler: Compiler) -> list[list[object]]:
    """Return, as plain data, what the answer to each level of a group depends on besides the level itself."""
    return [[one.name, sorted(_all_flags(one, compiler)), one.probe] for one in group]


def _all_flags(level: Level, compiler: Compiler) -> set[tuple[str, ...]]:
    dialect = compiler.dialect
    return set(units((*level.flags[dialect], *level.optional_flags.get(dialect, ()))))
