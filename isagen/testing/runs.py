"""Runs a command once per level, and checks that a program or module that it loaded used the level."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ..matrix.selection import unknown_features
from ..matrix.where import selectable_matrices
from ..model.errors import ConfigError, did_you_mean
from ..model.matrix import LevelRow, Matrix
from ..model.plan import BUILT
from .loads import Load, is_of_build, run_with_level, status_text
from .places import Place, places, runnable

PASSED, FAILED, NOT_RUN = "passed", "failed", "not run"


@dataclass(frozen=True)
class Run:
    """The run of a level: its `result`, and the `reason` if the result is not `PASSED`.

    `how` is the name of the place where it ran, "" if the result is `NOT_RUN`. `loaded` counts the loaded programs and
    modules of the build by the level that they used; it is None if the command was not run.
    """

    level: str
    result: str
    how: str = ""
    reason: str = ""
    loaded: Mapping[str, int] | None = None


def wanted_levels(matrices: Sequence[Matrix], names: Sequence[str]) -> list[str]:
    """Return the levels to run, lowest first: those of `names`, or, if `names` is empty, those of all matrices.

    Raises `ConfigError` for a name that is no level.
    """
    levels = list(dict.fromkeys(level.name for matrix in matrices for level in matrix.levels))
    for name in names:
        if name.upper() not in levels:
            raise ConfigError(f"unknown level {name!r}", where="--levels", remedy=did_you_mean(name, levels))
    asked = {name.upper() for name in names}
    return [level for level in levels if not asked or level in asked]


def run_levels(
    where: str, matrices: Sequence[Matrix], levels: Sequence[str], command: Sequence[str], emulated: bool
) -> Iterator[Run]:
    """Run `command` at each of the `levels` of the build `where`. If `emulated`, no level runs on this CPU itself."""
    for level in levels:
        found = [(matrix, of_level) for matrix in matrices if (of_level := matrix.level(level))]
        built = [(matrix, of_level) for matrix, of_level in found if of_level.verdict == BUILT]
        if built:
            yield _run_where_it_can(where, level, built, command, emulated)
        else:
            _, first = found[0]
            yield Run(level, NOT_RUN, reason=f"{first.verdict}: {first.reason}")


def _run_where_it_can(
    where: str, level: str, built: Sequence[tuple[Matrix, LevelRow]], command: Sequence[str], emulated: bool
) -> Run:
    """Run the command at the first place that has all features of the level, as each matrix of `built` lists them.

    Features that this isagen does not know are not compared.
    """
    unknown = dict.fromkeys(name for matrix, of_level in built for name in unknown_features(matrix, of_level))
    problems: list[str] = []
    for place in places(built[0][0], emulated):
        problem = next(filter(None, (place.problem_of(of_level) for _, of_level in built)), "")
        if not problem:
            return _run_at(place, level, where, [matrix for matrix, _ in built], command, list(unknown))
        problems.append(problem)
    # Only the reasons of two places are given. This CPU is the first place unless `emulated`. The last place is the CPU
    # model with the most features, or an emulator that is not installed.
    reasons = dict.fromkeys((*([] if emulated else problems[:1]), problems[-1]))
    return Run(level, NOT_RUN, reason="; ".join(reasons))


def _run_at(
    place: Place, level: str, where: str, built: Sequence[Matrix], command: Sequence[str], unknown: Sequence[str]
) -> Run:
    """Run the command at a place. Only the run shows whether the place has the level's `unknown` features."""
    words = [*place.before, *runnable(command)] if place.before else list(command)
    print(f"isagen: {level} on {place.name}", file=sys.stderr, flush=True)
    status, loads = run_with_level(words, level, list(dict.fromkeys(matrix.override for matrix in built)))
    others = [file for file in dict.fromkeys(load.file for load in loads) if not is_of_build(file, built)]
    rebuilt = selectable_matrices(where) if others else []  # the command itself may have rebuilt `where`
    others = [file for file in others if not is_of_build(file, rebuilt)]
    inside = [load for load in loads if not place.before or _is_inside(place, built, load)]
    loaded = dict(Counter(load.level for load in inside if load.file not in others))
    ran = " and ".join(loaded)
    if status != 0:
        reason = f"the command ended with {status_text(status)}"
    elif level in loaded:
        return Run(level, PASSED, place.name, loaded=loaded)
    elif loaded and unknown:
        reason = f"{ran} ran in its place: {place.name} may lack {' '.join(unknown)}"
        return Run(level, NOT_RUN, reason=reason, loaded=loaded)
    elif loaded:
        reason = f"{ran} ran in its place"
    elif others:
        reason = f"{others[0] or 'a file without a path'} was loaded, which is another build than {where}"
    elif loads:
        reason = "it ran on this CPU, outside the emulator, which runs only the command itself"
    else:
        reason = "no level ran: the command loaded nothing with these levels"
    return Run(level, FAILED, place.name, reason, loaded)


def _is_inside(place: Place, built: Sequence[Matrix], load: Load) -> bool:
    """Return False if level `load.best` needs a feature that `place` lacks: then the file ran on this CPU itself."""
    best = [row for matrix in built if (row := matrix.level(load.best))]
    return not any(place.problem_of(row) for row in best)
