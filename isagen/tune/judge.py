"""Judges levels: a level is worth its bytes if it is faster than the level that would run in its place.

Each round runs every level once, and only times of the same round are compared. A `Comparison` contains the median of
the rounds' ratios, and the confidence interval of this median by a sign test, which assumes no distribution of times.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import comb
from statistics import median

from ..model.errors import ConfigError
from .results import PROGRAM, Results, Timed

# The verdicts on a level: faster by more than the margin; slower; neither; or the noise is greater than the margin.
PAYS, SLOWER, EQUAL, UNKNOWN = "pays", "slower", "no difference", "no difference beyond the noise"
SAME_CODE = "same code"
CONFIDENCE = 0.95

Times = Mapping[str, Sequence[float]]


@dataclass(frozen=True)
class Comparison:
    """A level compared with the level `against` on one machine.

    The level is `speedup` times as fast as `against`. The confidence interval of the speedup is from `low` to `high`.
    """

    machine: str
    against: str
    speedup: float
    low: float
    high: float
    verdict: str


@dataclass(frozen=True)
class Judged:
    """A level of a kernel: whether to keep it, and the comparisons that decided this."""

    level: str
    keep: bool
    comparisons: tuple[Comparison, ...] = ()


def judge(
    levels: Sequence[str],
    requires: Mapping[str, Sequence[str]],
    machines: Mapping[str, Times],
    codes: Mapping[str, str],
    margin: float,
) -> list[Judged]:
    """Return the verdict on each of a kernel's `levels`, lowest first, by the times of each level on each machine.

    `codes` are digests of the copies' code, as far as they are known. A level is compared with the levels that could
    run in its place: on this machine, the next lower level that is kept; on others, the best level that it `requires`.
    A level is dropped if no comparison on any machine shows that it pays or may pay.
    """
    verdicts = [Judged(levels[0], True)]
    for level in levels[1:]:
        kept = [judged.level for judged in verdicts if judged.keep]
        comparisons = []
        for machine, times in machines.items():
            below = [name for name in kept if name in times] if level in times else []
            required = [name for name in below if name in requires.get(level, ())]
            for against in dict.fromkeys([*below[-1:], *required[-1:]]):
                same = level in codes and codes[level] == codes.get(against)
                comparisons.append(compare(machine, against, times[against], times[level], margin, same))
        keep = not comparisons or any(comparison.verdict in (PAYS, UNKNOWN) for comparison in comparisons)
        verdicts.append(Judged(level, keep, tuple(comparisons)))
    return verdicts


def compare(
    machine: str, against: str, before: Sequence[float], after: Sequence[float], margin: float, same: bool = False
) -> Comparison:
    """Compare the times of a level, `after`, with those of the level `against`, `before`, round by round.

    `margin` is the gain that is worth a copy: 0.03 for three percent. If both levels have the `same` code, the times
    only measure the noise.
    """
    ratios = sorted(slow / fast for slow, fast in zip(before, after, strict=True))
    place = _outside(len(ratios))
    low, high = ratios[place], ratios[-1 - place]
    return Comparison(machine, against, median(ratios), low, high, SAME_CODE if same else _verdict(low, high, margin))


def _verdict(low: float, high: float, margin: float) -> str:
    if low > 1 + margin:
        return PAYS
    if high < 1 - margin:
        return SLOWER
    return EQUAL if high < 1 + margin else UNKNOWN


def _outside(count: int) -> int:
    """Return how many of `count` sorted values are below the confidence interval of their median; as many are above."""
    tails = accumulate(comb(count, place) * 0.5**count for place in range(count // 2))
    return max(sum(2 * tail <= 1 - CONFIDENCE for tail in tails) - 1, 0)


@dataclass(frozen=True)
class Advice:
    """The verdicts on the levels of one kernel, and the bytes that each copy adds to the program."""

    source: str
    levels: tuple[Judged, ...]
    bytes: Mapping[str, int]

    @property
    def dropped(self) -> tuple[str, ...]:
        """The levels that are not worth their bytes."""
        return tuple(judged.level for judged in self.levels if not judged.keep)


def advise(results: Sequence[Results], margin: float) -> list[Advice]:
    """Return the advice on each kernel by the results of all machines.

    Raises `ConfigError` if the results are not of one project, or if two contain times of different code of a kernel.
    """
    first = results[0]
    kernels: dict[str, dict[str, Timed]] = {}
    for number, result in enumerate(results, 1):
        machine = result.cpu if len(results) == 1 else f"{number}: {result.cpu}"
        for source, timed in result.kernels.items():
            machines = kernels.setdefault(source, {})
            if result.project != first.project or any(timed.code != other.code for other in machines.values()):
                raise ConfigError(
                    f"has times of other code: {result.project}, {source or 'the whole program'}",
                    where=machine,
                    remedy="merge results of the same sources and compilers",
                )
            machines[machine] = timed
    advice = []
    for source, machines in kernels.items():
        code = next(iter(machines.values())).code
        times = {machine: timed.seconds for machine, timed in machines.items()}
        sizes = first.bytes.get(source, {})
        levels = [level for level in first.levels if source == PROGRAM or level in sizes or level in code]
        verdicts = judge(levels or first.levels, first.requires, times, code, margin)
        advice.append(Advice(source, tuple(verdicts), sizes))
    return advice


def text_of(advice: Iterable[Advice], several: bool) -> str:
    """Return a line for each level of each kernel. With `several` machines, lines name the machines."""
    lines = []
    for kernel in advice:
        lines.append(kernel.source or "the whole program")
        if len(kernel.levels) == 1:
            lines.append(f"  {kernel.levels[0].level} alone is built")
        for judged in kernel.levels[1:]:
            size = f"{kernel.bytes[judged.level]:,} bytes" if judged.level in kernel.bytes else ""
            reasons = "; ".join(shown(comparison, several) for comparison in judged.comparisons) or "not measured"
            verb = "keep" if judged.keep else "drop"
            lines.append(f"  {verb}  {judged.level:<12} {size:>15}  {reasons}")
        if kernel.dropped:
            key = f"kernels.{json.dumps(kernel.source)}.levels" if kernel.source else "levels"
            lines.append(f"  in isa.toml: {key} = {json.dumps([f'-{level}' for level in kernel.dropped])}")
    return "\n".join(lines) + "\n"


def shown(comparison: Comparison, several: bool) -> str:
    """Return a comparison as words: 2.31 x AVX2 (2.20 to 2.40): pays. With `several` machines, the machine is first."""
    machine = f"{comparison.machine}: " if several else ""
    bounds = f"({comparison.low:.2f} to {comparison.high:.2f})"
    return f"{machine}{comparison.speedup:.2f} x {comparison.against} {bounds}: {comparison.verdict}"
