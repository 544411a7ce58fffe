"""Asking the compiler, level by level: would the build work, and what does the compiler turn on?

A probe is the build: the project's arguments and the level's flags, warnings as errors, intrinsics whose result is
used, compiled and assembled, and then linked as a build links. It is never run, and never compiled without the flags.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from functools import cache, partial

from ..model.codec import from_data
from ..model.errors import CompilerError
from ..model.frozen import asdict, dataclass
from ..model.plan import Verdict
from ..processors.table import Level, Table
from .cache import Cache
from .compiler import DISPLAY_NAME, Compiler, Outcome, first_error, older

# Part of every cache key: raise it when the way of probing changes.
PROBE_FORMAT = 3
# What the body of a probe may name without a header. Reading the intrinsics' takes most of the time of a probe.
OWN_WORDS = {"return", "argc", "argv"}


@dataclass(frozen=True)
class Kept:
    """A verdict as the cache keeps it, with sizes and times (nanoseconds) of the headers that the probe included."""

    verdict: Verdict
    headers: Mapping[str, tuple[int, int]]


def probe_all(
    table: Table, compilers: Iterable[Compiler], cache: Cache, jobs: int | None = None
) -> Mapping[tuple[str, str], Verdict]:
    """Probe every level with every compiler, in parallel. Returns verdicts by (level name, language)."""
    return dict(probe_each(table, compilers, cache, jobs))


def probe_each(
    table: Table, compilers: Iterable[Compiler], cache: Cache, jobs: int | None = None
) -> Iterator[tuple[tuple[str, str], Verdict]]:
    """Probe as `probe_all` does, and yield each verdict, in their order, as soon as it is known.

    Those that are kept are read before any compiler is asked.
    """
    questions = [_Question(table, level, compiler) for compiler in compilers for level in table.levels]
    kept = {question: question.kept(cache) for question in questions}
    unknown = [question for question in questions if kept[question] is None]
    with ExitStack() as stack:
        answers: Iterator[Verdict] = iter(())
        if unknown:
            from concurrent.futures import ThreadPoolExecutor  # most configurings know all, and load none of it

            pool = stack.enter_context(ThreadPoolExecutor(jobs))
            answers = pool.map(lambda question: question.asked(cache), unknown)
        for question in questions:
            yield (question.level.name, question.compiler.language), kept[question] or next(answers)


def baseline_features(table: Table, compilers: Iterable[Compiler]) -> tuple[str, ...]:
    """Return the features that the compilers turn on without any level's flags: what every other object may use."""
    return table.features.turned_on(frozenset().union(*(bare_macros(compiler) for compiler in compilers)))


@cache
def bare_macros(compiler: Compiler) -> frozenset[str]:
    """Return the macros that the compiler predefines under the project's own arguments; none where it lists none."""
    if compiler.dialect == "msvc":
        return frozenset()
    macros, outcome = compiler.macros(())
    if compiler.language == "fortran" and not (outcome.ok and compiler.id == "gcc"):
        return frozenset()
    if not outcome.ok and not compiler.known:
        return frozenset()
    if not outcome.ok:
        raise CompilerError(
            f"{compiler.name} cannot preprocess an empty file: {first_error(outcome.err)}",
            where=f"{compiler.language} compiler",
            remedy="check the project's compiler arguments: " + " ".join(compiler.args),
        )
    return frozenset(macros)


class _Question:
    """One level of a table, and one compiler; the answer is kept under the hash of all that it depends on."""

    def __init__(self, table: Table, level: Level, compiler: Compiler) -> None:
        self.level, self.compiler = level, compiler
        self._table = table
        self._bare = bare_macros(compiler)
        self._key = Cache.key(
            [
                PROBE_FORMAT,
                compiler.identity,
                compiler.language,
                compiler.command,
                compiler.args,
                asdict(level),
                probe_text(table, level),
                table.required_features(level.name),
                sorted((f.name, f.macros) for f in table.features.features.values()),
                table.features.ignored_macros,
                table.features.cpu_macros,
                sorted(table.features.never_required),
            ]
        )

    def kept(self, cache: Cache) -> Verdict | None:
        """Return the answer of an earlier build, if it is still good."""
        with suppress(ValueError):  # no answer yet, a file of another version, or a damaged one
            kept = from_data(Kept, cache.get(self._key))
            if states_of(kept.headers) == kept.headers:
                return kept.verdict
        return None

    def asked(self, cache: Cache) -> Verdict:
        """Probe, and keep the answer."""
        verdict, headers = probe(self._table, self.level, self.compiler, self._bare)
        if headers is not None:
            cache.put(self._key, asdict(Kept(verdict, states_of(headers))))
        return verdict


def states_of(paths: Iterable[str]) -> dict[str, tuple[int, int]]:
    """Return the sizes and times (nanoseconds) of those of the files that there are."""
    found = {}
    for path in paths:
        with suppress(OSError):
            state = os.stat(path)
            found[path] = (state.st_size, state.st_mtime_ns)
    return found


def probe(table: Table, level: Level, compiler: Compiler, bare: frozenset[str]) -> tuple[Verdict, Sequence[str] | None]:
    """Probe one level with one compiler; `bare` are the macros predefined without the level's flags.

    Return the verdict, and the headers that the level's program included. They are None where a compilation failed:
    whether by a flag, a header or a wrapper of the compiler is not known, so that the verdict is not to be kept.
    """
    no = partial(Verdict, False)
    minimum = level.minimum.get(compiler.id)
    if minimum and older(compiler.version, minimum):
        return no(f"{compiler.name} is older than {minimum}"), ()
    if compiler.language == "fortran" and not bare:
        why = (
            f"{compiler.name} compiles Fortran alone, so it cannot be asked in C what the flags of {level.name} turn on"
        )
        return Verdict(level.name == table.base.name and not level.flags.get(compiler.dialect), why), ()
    if compiler.dialect not in level.flags:
        family = DISPLAY_NAME.get(compiler.id, compiler.dialect)
        return no(f"the table has no {compiler.dialect} flags for {level.name}, which {family} would need"), ()
    flags, dropped = _usable_flags(level, compiler)
    no = partial(no, flags=flags, dropped=dropped)
    features, reason = _closure(table, level, compiler, flags, bare)
    if reason:
        return no(reason), None
    outcome = compiler.builds(probe_text(table, level), flags)
    if not outcome.ok:
        return no(_why(outcome)), None
    return Verdict(True, f"probed with {compiler.name}", flags, dropped, features), outcome.headers


def probe_text(table: Table, level: Level) -> str:
    """Return the program that is compiled for `level`: one that names nothing of headers includes none."""
    prologue = "" if set(re.findall(r"\b[A-Za-z_]\w*", level.probe)) <= OWN_WORDS else f"{table.prologue}\n"
    return f"{prologue}int main(int argc, char **argv)\n{{\n(void)argv;\n{level.probe.strip()}\n}}\n"


def _usable_flags(level: Level, compiler: Compiler) -> tuple[tuple[str, ...], tuple[tuple[str, str], ...]]:
    """Return the level's flags with those optional ones that the compiler takes, and the dropped ones with reasons."""
    flags = level.flags[compiler.dialect]
    optional = level.optional_flags.get(compiler.dialect, ())
    if not optional or compiler.accepts((*flags, *optional)).ok:
        return (*flags, *optional), ()
    if not compiler.accepts(flags).ok:  # then it says nothing about the optional ones
        return flags, ()
    dropped = []
    for flag in optional:
        outcome = compiler.accepts((*flags, flag))
        if outcome.ok:
            flags = (*flags, flag)
        else:
            dropped.append((flag, first_error(outcome.err)))
    return flags, tuple(dropped)


def _closure(
    table: Table, level: Level, compiler: Compiler, flags: Sequence[str], bare: frozenset[str]
) -> tuple[tuple[str, ...], str]:
    """Return the features that code compiled under `flags` may use, or the reason why that cannot be known."""
    required = table.required_features(level.name)
    if compiler.dialect == "msvc":
        # cl predefines too few macros to tell; what the table says is all there is.
        return required, ""
    macros: Collection[str] = bare
    if flags:
        macros, outcome = compiler.macros(flags)
        if not outcome.ok:
            return (), _why(outcome)
    known = table.features
    unknown = known.unknown(macros, bare)
    if unknown:
        return (), (
            f"its flags turn on {', '.join(unknown)}, which no feature names, so that no CPU could be checked for it; "
            "add it to [extra_features] of the table"
        )
    for name in level.features:
        names = known.features[name].macros
        if names and not any(macro in macros for macro in names):
            return (), f"its flags do not turn on {name} ({names[0]} is not defined under {' '.join(flags)})"
    turned_on = known.turned_on(macros)
    return tuple(name for name in known.features if name in turned_on or name in required), ""


def _why(outcome: Outcome) -> str:
    """Say in one line why a compilation failed, and which tool refused."""
    text = outcome.err or outcome.out
    if "Assembler messages:" in text:
        line = next((x for x in text.splitlines() if "Error:" in x), "").split("Error:", 1)[-1].strip()
        return f"the assembler rejects it: {line}"
    if re.search(r"collect2: error|ld returned|linker command failed", text):
        telling = re.search(r"undefined (reference|symbol).*|cannot find .*|unrecognized option .*", text)
        return f"it does not link: {telling[0] if telling else first_error(text)}"
    return first_error(text) or "the compiler failed without a message"
