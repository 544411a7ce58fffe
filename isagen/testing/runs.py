"""Runs a command once per level, and checks that a program or module that it loaded used the level."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..matrix.selection import unknown_features
from ..model.errors import ConfigError, ProjectError, did_you_mean
from ..model.matrix import LevelRow, Matrix
from ..model.plan import BUILT
from .places import Place, places, runnable

# The environment variable that names the report. Each program or module, when loaded, adds a line "VARIABLE LEVEL" to
# this file (templates/isa_override.c.j2).
REPORT = "ISAGEN_TEST_REPORT"
PASSED, FAILED, NOT_RUN = "passed", "failed", "not run"


@dataclass(frozen=True)
class Run:
    """The run of a level at the place `how`, its `result`, and the `reason` if it did not pass.

    `how` is "" if the level did not run. `loaded` counts the loaded programs and modules by the level that they used.
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
    matrices: Sequence[Matrix], levels: Sequence[str], command: Sequence[str], emulated: bool
) -> Iterator[Run]:
    """Run `command` at each of the levels, and yield the result of each."""
    for level in levels:
        found = [(matrix, of_level) for matrix in matrices if (of_level := matrix.level(level))]
        built = [(matrix, of_level) for matrix, of_level in found if of_level.verdict == BUILT]
        if built:
            yield _run_where_it_can(level, built, command, emulated)
        else:
            _, first = found[0]
            yield Run(level, NOT_RUN, reason=f"{first.verdict}: {first.reason}")


def _run_where_it_can(
    level: str, built: Sequence[tuple[Matrix, LevelRow]], command: Sequence[str], emulated: bool
) -> Run:
    """Run the command at the first place that has the features of the level in each set of kernels."""
    variables = list(dict.fromkeys(matrix.override for matrix, _ in built))
    unknown = dict.fromkeys(name for matrix, of_level in built for name in unknown_features(matrix, of_level))
    problems: list[str] = []
    for place in places(built[0][0], emulated):
        problem = next(filter(None, (place.problem_of(of_level) for _, of_level in built)), "")
        if not problem:
            return _run_at(place, level, variables, command, list(unknown))
        problems.append(problem)
    # The first place is this CPU. The last is the emulator's model with most features.
    reasons = dict.fromkeys((*([] if emulated else problems[:1]), problems[-1]))
    return Run(level, NOT_RUN, reason="; ".join(reasons))


def _run_at(place: Place, level: str, variables: Sequence[str], command: Sequence[str], unknown: Sequence[str]) -> Run:
    """Run the command at a place, which may lack the level's `unknown` features: only the run shows whether it does."""
    words = [*place.before, *runnable(command)] if place.before else list(command)
    print(f"isagen: {level} on {place.name}", file=sys.stderr, flush=True)
    status, loaded = run_with_level(words, level, variables)
    ran = " and ".join(loaded)
    if status != 0:
        reason = f"the command ended with {status_text(status)}"
    elif not loaded:
        reason = "no level ran: the command loaded nothing with these levels"
    elif level in loaded:
        return Run(level, PASSED, place.name, loaded=loaded)
    elif unknown:
        reason = f"{ran} ran in its place: {place.name} may lack {' '.join(unknown)}"
        return Run(level, NOT_RUN, reason=reason, loaded=loaded)
    else:
        reason = f"{ran} ran in its place"
    return Run(level, FAILED, place.name, reason, loaded)


def run_with_level(command: Sequence[str], level: str, variables: Sequence[str]) -> tuple[int, dict[str, int]]:
    """Run a command with the level in the environment `variables`; return its status, and what it loaded by level."""
    with tempfile.TemporaryDirectory(prefix="isagen-test-") as folder:
        report = Path(folder, "report")
        environment = {**os.environ, **dict.fromkeys(variables, level), REPORT: str(report)}
        try:
            # The command's output goes to stderr, so that with --format json, stdout contains only isagen's results.
            status = subprocess.run(command, env=environment, stdout=2, check=False).returncode
        except OSError as problem:
            raise ProjectError(
                f"cannot be run: {problem.strerror}", where=command[0], remedy="give the command of the tests after --"
            ) from None
        lines = report.read_text("utf-8").splitlines() if report.exists() else []
    loads = [line.split() for line in lines]
    return status, dict(Counter(used for variable, used in loads if variable in variables))


def status_text(status: int) -> str:
    """Return the status of a process that failed, or its signal's name; Python has none for most real-time signals."""
    if status > 0:
        return f"status {status}"
    return signal.Signals(-status).name if -status in set(signal.Signals) else f"signal {-status}"
