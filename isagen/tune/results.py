"""The results of `isagen tune` on one machine, and their file, which `isagen tune --merge` reads on another one."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ..model.codec import from_text, to_text
from ..model.errors import ConfigError

RESULTS_FORMAT = 2
# The key of the whole program, which replaces kernel sources if a benchmark prints no times of kernels.
PROGRAM = ""
# The fewest rounds from which `judge` can compute a confidence interval of `judge.CONFIDENCE`.
FEWEST = 6


@dataclass(frozen=True)
class Timed:
    """The times of one kernel, in seconds by level and round, and the digests of its copies' code by level."""

    seconds: Mapping[str, tuple[float, ...]]
    code: Mapping[str, str]


@dataclass(frozen=True)
class Results:
    """A measurement on one machine.

    `levels` are the levels of the build, lowest first. `requires` lists the levels that each of them requires. `bytes`
    are the bytes that each copy adds to the program, by kernel source and level.
    """

    cpu: str
    project: str
    levels: tuple[str, ...]
    requires: Mapping[str, tuple[str, ...]]
    bytes: Mapping[str, Mapping[str, int]]
    kernels: Mapping[str, Timed]


def results_text(results: Results) -> str:
    """Return the text of a file of results."""
    return to_text(results, RESULTS_FORMAT) + "\n"


def read_results(path: Path) -> Results:
    """Read a file of results. Raises `ConfigError` if it cannot be read."""
    try:
        return _checked(from_text(Results, path.read_bytes(), RESULTS_FORMAT))
    except (OSError, ValueError) as problem:
        reason = problem.strerror if isinstance(problem, OSError) else problem
        raise ConfigError(
            f"cannot be read: {reason}", where=str(path), remedy="give a file that `isagen tune --save` wrote"
        ) from None


def _checked(results: Results) -> Results:
    """Return the `results`. Raises ValueError if no verdict can be computed from them."""
    if not results.levels:
        raise ValueError("it has no levels")
    for source, timed in results.kernels.items():
        shown = source or "the program"
        counts = {len(times) for times in timed.seconds.values()}
        if len(counts) != 1 or min(counts) < FEWEST:
            raise ValueError(f"{shown} has less than {FEWEST} rounds, or more of one level than of another")
        if not all(0 < seconds < math.inf for times in timed.seconds.values() for seconds in times):
            raise ValueError(f"a time of {shown} is not a positive number")
    return results
