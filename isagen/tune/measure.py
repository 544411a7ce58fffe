"""Measures the kernels of a build on this machine: runs a benchmark at each level in turns, and reads its times."""

from __future__ import annotations

import math
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial

from ..matrix.selection import selection_here, unknown_features
from ..matrix.where import find_matrices, selectable_matrices
from ..matrix.why import find_kernels
from ..model.errors import ProjectError
from ..model.matrix import LevelRow, Matrix
from ..model.plan import BUILT
from ..testing.loads import is_of_build, run_with_level, status_text
from .judge import PROGRAM, Results, Timed

# A line of a benchmark: the path of a kernel, the end of the path, or a stub; and seconds.
LINE = re.compile(r"^[ \t]*(\S+?):?[ \t]+([-+]?\d*\.?\d+\.?(?:e[-+]?\d+)?)(?:[ \t]*s)?[ \t]*\r?$", re.MULTILINE)
# A function that shows the progress; its arguments are the name of a run, the run's number, and the number of runs.
Show = Callable[[str, int, int], None]
SourceOf = Callable[[str], str | None]  # `source_of` for one matrix


def only_matrix(where: str) -> Matrix:
    """Return the one matrix at `where` whose level an environment variable selects.

    Raises `ProjectError` if there are several such matrices, or none.
    """
    matrix, *others = selectable_matrices(where)
    if others:
        found = [one for one in find_matrices(where) if one.matrix.override]
        sets = [str(one.plan or f"{one.label}, {one.matrix.project}") for one in found]
        plans = all(one.plan for one in found)
        raise ProjectError(
            f"contains {len(sets)} sets of kernels: {'; '.join(sets)}",
            where=where,
            remedy="give one of these files" if plans else "give a file with one of them, or its isa_plan.json",
        )
    return matrix


def measure(matrix: Matrix, command: Sequence[str], rounds: int, show: Show, unknown: set[str]) -> Results:
    """Run the benchmark `command` at each level that is built and runs on this machine; return its results.

    Names in the benchmark's lines that mean no kernel, or are ambiguous, are added to `unknown`. Raises `ProjectError`
    if fewer than two levels run, or if the benchmark fails or loads nothing of the build.
    """
    rows = [level for level in matrix.levels if level.verdict == BUILT]
    built, levels = [level.name for level in rows], _levels(matrix, rows, command)
    _check_loads(command, levels[-1], matrix)
    sources: dict[str, str | None] = {}
    times = run_rounds(command, matrix.override, levels, rounds, partial(source_of, matrix), show, sources)
    unknown |= {name for name, source in sources.items() if source is None}
    digests: dict[str, dict[str, str]] = {PROGRAM: {}}
    sizes: dict[str, dict[str, int]] = {PROGRAM: {}}
    for kernel in matrix.kernels:
        cells = [(level, cell.code, cell.folded) for level, cell in kernel.levels.items() if cell.code is not None]
        digests[kernel.source] = {level: code.digest for level, code, _ in cells}
        sizes[kernel.source] = {level: 0 if folded else code.loaded_bytes for level, code, folded in cells}
    for level in built:
        of_level = sorted(by_level[level] for by_level in digests.values() if level in by_level)
        digests[PROGRAM][level] = " ".join(of_level)
        sizes[PROGRAM][level] = sum(by_level.get(level, 0) for by_level in sizes.values())
    return Results(
        levels=tuple(built),
        requires={level.name: level.requires for level in matrix.levels if level.name in built},
        bytes={source: sizes[source] for source in times},
        kernels={
            source: Timed(by_level, digests.get(source, {}), _unmeasured(matrix, source, sources))
            for source, by_level in times.items()
        },
    )


def _levels(matrix: Matrix, built: Sequence[LevelRow], command: Sequence[str]) -> list[str]:
    """Return the `built` levels that run on this machine. Raises `ProjectError` if there are fewer than two.

    If isagen cannot detect a feature of a level, it runs the command to see whether the level runs.
    """
    now = selection_here(matrix)
    if now.problem:
        raise ProjectError(now.problem, where=matrix.project, remedy="measure on a machine that runs the build")
    levels = []
    for level in built:
        unknown = unknown_features(matrix, level)
        if len(now.missing[level.name]) > len(unknown):
            continue
        used = run_with_level(command, level.name, [matrix.override])[1] if unknown else ()
        if not unknown or any(load.level == level.name for load in used):
            levels.append(level.name)
    if len(levels) < 2:
        runs = f"{' '.join(levels) or 'no level'} of {' '.join(level.name for level in built)}"
        raise ProjectError(f"runs at {runs} here", where=matrix.project, remedy="build two levels that run here")
    return levels


def _check_loads(command: Sequence[str], level: str, matrix: Matrix) -> None:
    """Raise `ProjectError` if the command cannot be started, or succeeds at `level` but loads nothing of the build.

    Only on Linux do programs and modules report that they were loaded, so nothing is checked elsewhere. A command that
    fails is no error here, because `run_rounds` reports it.
    """
    if sys.platform != "linux":
        return
    status, loads = run_with_level(command, level, [matrix.override], subprocess.DEVNULL)
    if status != 0 or any(is_of_build(load.file, [matrix]) for load in loads):
        return
    what = f"{loads[0].file} is another build" if loads else "the command loaded nothing with these levels"
    remedy = f"measure a program or module of {matrix.project}"
    raise ProjectError(f"no level ran: {what}", where=" ".join(command), remedy=remedy)


def _unmeasured(matrix: Matrix, source: str, names: Collection[str]) -> tuple[str, ...]:
    """Return the stubs of a kernel source that no name in `names` means.

    The result is empty if a name means the source itself.
    """
    kernel = next((kernel for kernel in matrix.kernels if kernel.source == source), None)
    if kernel is None or any(f"/{source}".endswith(f"/{name}") for name in names):
        return ()
    stubs = sorted({stub for cell in kernel.levels.values() for stub in cell.stubs or ()})
    return tuple(stub for stub in stubs if not any(f"{stub}_".startswith(f"{name}_") for name in names))


def source_of(matrix: Matrix, name: str) -> str | None:
    """Return the kernel source that a name means, found as by `isagen why`, or `PROGRAM` if the kernels have no stubs.

    If several kernels register a stub of this name, the source of the last one is returned. Return None if the name
    means no kernel, or is ambiguous.
    """
    try:
        found = find_kernels(matrix, name)
    except ProjectError:
        return None
    # A whole module has no stubs, and all of its kernels run at the same level.
    return found[-1].source if any(cell.stubs for _, _, cell in matrix.cells()) else PROGRAM


def run_rounds(
    command: Sequence[str],
    variable: str,
    levels: Sequence[str],
    rounds: int,
    source_of: SourceOf,
    show: Show,
    sources: dict[str, str | None],
) -> dict[str, dict[str, tuple[float, ...]]]:
    """Run `command` at each of the `levels` in each round; return seconds of each round by kernel source and level.

    Names in the benchmark's lines are added to `sources`, each with what `source_of` returns. One more round comes
    first, which only warms up caches and is not counted. Raises `ProjectError` if the command fails, prints a time that
    is not more than 0, or does not print times of the same kernels in all runs.
    """
    times: dict[str, dict[str, list[float]]] = {}
    timed: set[str] | None = None
    for number in range(rounds + 1):
        start = number % len(levels)
        for level in (*levels[start:], *levels[:start]):
            show(f"round {number} at {level}", number * len(levels), (rounds + 1) * len(levels))
            seconds = _run(command, {**os.environ, variable: level}, source_of, sources)
            if timed is not None and seconds.keys() != timed:
                differing = ", ".join(sorted((seconds.keys() ^ timed) - {PROGRAM}))
                raise ProjectError(
                    f"it prints a time for {differing} in some runs only",
                    where=command[0],
                    remedy="print a line NAME SECONDS for the same kernels at every level",
                )
            timed = set(seconds)
            for source in timed if number else ():
                times.setdefault(source, {}).setdefault(level, []).append(seconds[source])
    return {source: {level: tuple(by_level[level]) for level in levels} for source, by_level in times.items()}


def _run(
    command: Sequence[str], environment: Mapping[str, str], source_of: SourceOf, sources: dict[str, str | None]
) -> dict[str, float]:
    """Run the benchmark once. Return seconds by kernel source, or if no line names a kernel, those of the whole run."""
    start = time.perf_counter()
    try:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, errors="replace", check=False)
    except OSError as problem:  # not on Linux, where `_check_loads` raises the error first
        remedy = "give the benchmark's command after --"
        raise ProjectError(f"cannot be run: {problem.strerror}", where=command[0], remedy=remedy) from None
    whole = time.perf_counter() - start
    if done.returncode != 0:
        last = (done.stderr or done.stdout).strip().splitlines()[-1:] or ["it prints nothing"]
        reason = f"ended with {status_text(done.returncode)}: {last[0]}"
        raise ProjectError(reason, where=" ".join(command), remedy="run it by itself first")
    seconds: dict[str, float] = {}
    for name, text in LINE.findall(done.stdout):
        if name not in sources:
            sources[name] = source_of(name)
        source = sources[name]
        if source is None:
            continue
        if 0 < float(text) < math.inf:
            seconds[source] = seconds.get(source, 0.0) + float(text)
        else:
            remedy = "print seconds, more than 0"
            raise ProjectError(f"prints {text} as the time of {name}", where=command[0], remedy=remedy)
    return seconds or {PROGRAM: whole}
