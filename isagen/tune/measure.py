"""Measuring the kernels of a build on this machine, level by level."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from hashlib import sha256

from ..matrix.selection import selection_here
from ..matrix.where import find_matrices
from ..model.errors import ProjectError
from ..model.matrix import Matrix
from ..model.plan import BUILT
from ..processors.registry import this_machine
from .results import Results, Timed
from .run import PROGRAM, Show, run_rounds


def only_matrix(where: str) -> Matrix:
    """Return the only matrix at a place. Raises `ProjectError` where there are several, or where nothing chooses."""
    found = find_matrices(where)
    if len(found) > 1:
        raise ProjectError(
            f"holds {len(found)} sets of kernels: {', '.join(one.matrix.project for one in found)}",
            where=where,
            remedy="give a module or library that holds one of them",
        )
    if not found[0].matrix.override:
        raise ProjectError(
            "its level cannot be chosen: isa.toml has no override",
            where=where,
            remedy='set override = "NAME_ISA" for the build that is measured',
        )
    return found[0].matrix


def measure(matrix: Matrix, command: Sequence[str], rounds: int, show: Show) -> Results:
    """Run the benchmark `command` at each level that is built and runs on this machine.

    Raises `ProjectError` where fewer than two levels run, or where the benchmark fails.
    """
    built = [level.name for level in matrix.levels if level.verdict == BUILT]
    times = run_rounds(command, matrix.override, _levels(matrix, built), rounds, kernel_names(matrix), show)
    codes = {
        kernel.source: {level: cell.code for level, cell in kernel.levels.items() if cell.code is not None}
        for kernel in matrix.kernels
    }
    digests = {source: {level: code.digest for level, code in row.items()} for source, row in codes.items()}
    digests[PROGRAM] = {level: _digest(row[level] for row in digests.values() if level in row) for level in built}
    sizes = {
        kernel.source: {
            level: 0 if kernel.levels[level].folded else code.loaded_bytes
            for level, code in codes[kernel.source].items()
        }
        for kernel in matrix.kernels
    }
    sizes[PROGRAM] = {level: sum(row.get(level, 0) for row in sizes.values()) for level in built}
    return Results(
        cpu=this_machine(matrix.features).cpu_name(),
        project=matrix.project,
        compilers=tuple(f"{language}: {one.name}" for language, one in matrix.compilers.items()),
        command=tuple(command),
        date=time.strftime("%Y-%m-%d"),
        levels=tuple(built),
        requires={level.name: level.requires for level in matrix.levels if level.name in built},
        bytes={source: sizes[source] for source in times},
        kernels={source: Timed(by_level, digests.get(source, {})) for source, by_level in times.items()},
    )


def _levels(matrix: Matrix, built: Sequence[str]) -> list[str]:
    """Return the levels of the `built` ones that this machine runs: two or more."""
    now = selection_here(matrix)
    if now.problem:
        raise ProjectError(now.problem, where=matrix.project, remedy="measure on a machine that runs the build")
    levels = [level for level in built if not now.missing[level]]
    if not levels:
        raise ProjectError(
            f"does not run here, where {', '.join(now.missing[built[0]])} is missing", where=matrix.project
        )
    if len(levels) < 2:
        raise ProjectError(f"runs at {levels[0]} alone here", where=matrix.project, remedy="build more levels")
    return levels


def _digest(parts: Iterable[str]) -> str:
    """Return a digest of the code of all kernels at a level."""
    return sha256("\n".join(sorted(parts)).encode()).hexdigest()


def kernel_names(matrix: Matrix) -> dict[str, str]:
    """Return the kernel source of each name that a line may have; a name that several kernels end in is none's."""
    names: dict[str, str] = {}
    ends: dict[str, set[str]] = {}
    for kernel in matrix.kernels:
        parts = kernel.source.split("/")
        for place in range(len(parts)):
            ends.setdefault("/".join(parts[place:]), set()).add(kernel.source)
        for cell in kernel.levels.values():
            names |= dict.fromkeys(cell.stubs or (), kernel.source)
    if not names:  # a whole module, whose kernels have their levels together
        return dict.fromkeys(ends, PROGRAM)
    return names | {end: next(iter(sources)) for end, sources in ends.items() if len(sources) == 1}
