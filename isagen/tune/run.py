"""Running a benchmark at each level in turns, and reading the times that it prints."""

from __future__ import annotations

import math
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence

from ..model.errors import ProjectError

# A line of a benchmark: the path of a kernel, the end of the path, or a stub; and seconds.
LINE = re.compile(r"^[ \t]*(\S+?):?[ \t]+([-+.\w]+?)(?:[ \t]*s)?[ \t]*\r?$", re.MULTILINE)
NUMBER = re.compile(r"\d+(\.\d*)?(e[-+]?\d+)?")
# The kernel source that stands for the whole program, if a benchmark prints no times.
PROGRAM = ""
# Shows a run, its number, and the number of runs.
Show = Callable[[str, int, int], None]


def run_rounds(
    command: Sequence[str],
    variable: str,
    levels: Sequence[str],
    rounds: int,
    kernels: Mapping[str, str],
    show: Show,
    unknown: set[str],
) -> dict[str, dict[str, tuple[float, ...]]]:
    """Run `command` at each of the `levels` in each round; return seconds by kernel source and level.

    The environment `variable` selects the level. `kernels` maps the names that lines may have to kernel sources. The
    first round only warms up caches. Each round begins with another level than the round before. The names of lines
    that are not in `kernels` are added to `unknown`.
    """
    times: dict[str, dict[str, list[float]]] = {}
    sources: set[str] | None = None
    for number in range(rounds + 1):
        start = number % len(levels)
        for level in (*levels[start:], *levels[:start]):
            show(f"round {number} at {level}", number * len(levels), (rounds + 1) * len(levels))
            seconds = _run(command, {**os.environ, variable: level}, kernels, unknown)
            if sources is not None and seconds.keys() != sources:
                differing = ", ".join(sorted((seconds.keys() ^ sources) - {PROGRAM}))
                raise ProjectError(
                    f"it prints a time for {differing} in some runs only",
                    where=command[0],
                    remedy="print a line NAME SECONDS for the same kernels at every level",
                )
            sources = set(seconds)
            for source in sources if number else ():
                times.setdefault(source, {}).setdefault(level, []).append(seconds[source])
    return {source: {level: tuple(by_level[level]) for level in levels} for source, by_level in times.items()}


def _run(
    command: Sequence[str], environment: Mapping[str, str], kernels: Mapping[str, str], unknown: set[str]
) -> dict[str, float]:
    """Run once; return seconds by kernel source, or of the whole program if no line names a kernel."""
    start = time.perf_counter()
    try:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, errors="replace", check=False)
    except OSError as problem:
        raise ProjectError(
            f"cannot be run: {problem.strerror}", where=command[0], remedy="give the benchmark's command after --"
        ) from None
    whole = time.perf_counter() - start
    if done.returncode != 0:
        last = (done.stderr or done.stdout).strip().splitlines()[-1:] or ["it prints nothing"]
        status = done.returncode
        raise ProjectError(
            f"ended with {f'status {status}' if status > 0 else signal.Signals(-status).name}: {last[0]}",
            where=" ".join(command),
            remedy="run it by itself first",
        )
    seconds: dict[str, float] = {}
    for name, text in LINE.findall(done.stdout):
        if name in kernels:
            seconds[kernels[name]] = seconds.get(kernels[name], 0.0) + _seconds(name, text, command[0])
        elif NUMBER.fullmatch(text):
            unknown.add(name)
    return seconds or {PROGRAM: whole}


def _seconds(name: str, text: str, command: str) -> float:
    """Return the time in a kernel's line."""
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0 < seconds < math.inf:
        raise ProjectError(f"prints {text} as the time of {name}", where=command, remedy="print seconds, more than 0")
    return seconds
