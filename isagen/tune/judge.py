"""Judges levels: a level is worth its bytes if it is faster than the level that would run in its place.

Each round runs every level once, and only times of the same round are compared: each round gives one ratio of two
levels' times. A `Comparison` contains the median of these ratios, and the confidence interval of this median by a sign
test, which assumes no distribution of times.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import comb
from statistics import median

# The key of the whole program, which replaces kernel sources if a benchmark prints no times of kernels, or if the
# kernels form a whole module.
PROGRAM = ""
FEWEST = 6  # rounds that give a confidence interval of `CONFIDENCE`
# Verdicts on a level: faster by more than the margin, slower by more than it, not faster by more than it, not certain.
PAYS, SLOWER, NO_GAIN, UNDECIDED = "pays", "slower", "no gain", "undecided"
SAME_CODE = "same code"  # the verdict if the copies of both levels have the same code, whatever the times
CONFIDENCE = 0.95


@dataclass(frozen=True)
class Timed:
    """The times of one kernel, in seconds by level and round, and the digests of its copies' code by level.

    `unmeasured` are those of the kernel's stubs for which the benchmark printed no times.
    """

    seconds: Mapping[str, tuple[float, ...]]
    code: Mapping[str, str]
    unmeasured: tuple[str, ...] = ()


@dataclass(frozen=True)
class Results:
    """A measurement on this machine. `levels` are the levels that are built, lowest first.

    `bytes` are the bytes that each copy adds to the program, by kernel source and level. `kernels` maps each measured
    kernel source to its times.
    """

    levels: tuple[str, ...]
    requires: Mapping[str, tuple[str, ...]]
    bytes: Mapping[str, Mapping[str, int]]
    kernels: Mapping[str, Timed]


@dataclass(frozen=True)
class Comparison:
    """A level that is `speedup` times as fast as the level `against`.

    The confidence interval of the speedup is from `low` to `high`.
    """

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


def judge(levels: Sequence[str], requires: Mapping[str, Sequence[str]], timed: Timed, margin: float) -> list[Judged]:
    """Return the verdict on each of a kernel's `levels`, which are given and returned lowest first.

    A level is compared with the measured levels that could run in its place: on this machine, the next lower one that
    is kept; on others, the best kept one that it `requires`. A level is dropped if it was compared, and no comparison
    shows that it pays or may pay. `margin` is the same as in `compare`.
    """
    times, code = timed.seconds, timed.code
    verdicts = [Judged(levels[0], True)]
    for level in levels[1:]:
        measured = level in times
        below = [one.level for one in verdicts if one.keep and one.level in times and measured]
        required = [name for name in below if name in requires.get(level, ())]
        comparisons = []
        for against in dict.fromkeys([*below[-1:], *required[-1:]]):
            same = level in code and code[level] == code.get(against)
            comparisons.append(compare(against, times[against], times[level], margin, same))
        keep = not comparisons or any(comparison.verdict in (PAYS, UNDECIDED) for comparison in comparisons)
        verdicts.append(Judged(level, keep, tuple(comparisons)))
    return verdicts


def compare(
    against: str, before: Sequence[float], after: Sequence[float], margin: float, same: bool = False
) -> Comparison:
    """Compare the times of two levels, round by round: `before` are those of the level `against`, `after` the other's.

    `margin` is the gain that is worth a copy: 0.03 for three percent. If both levels have the `same` code, the verdict
    is `SAME_CODE`, because their times differ only by noise.
    """
    ratios = sorted(slow / fast for slow, fast in zip(before, after, strict=True))
    place = _outside(len(ratios))
    low, high = ratios[place], ratios[-1 - place]
    return Comparison(against, median(ratios), low, high, SAME_CODE if same else _verdict(low, high, margin))


def _verdict(low: float, high: float, margin: float) -> str:
    if low > 1 + margin:
        return PAYS
    if high < 1 - margin:
        return SLOWER
    return NO_GAIN if high < 1 + margin else UNDECIDED


def _outside(count: int) -> int:
    """Return how many of `count` sorted values are below the confidence interval of their median; as many are above."""
    tails = accumulate(comb(count, place) * 0.5**count for place in range(count // 2))
    return max(sum(2 * tail <= 1 - CONFIDENCE for tail in tails) - 1, 0)


@dataclass(frozen=True)
class Advice:
    """The verdicts on the levels of one kernel, or of the whole program if `source` is `PROGRAM`."""

    source: str
    levels: tuple[Judged, ...]
    bytes: Mapping[str, int]
    unmeasured: tuple[str, ...] = ()

    @property
    def dropped(self) -> tuple[str, ...]:
        """The levels that are not worth their bytes."""
        return tuple(judged.level for judged in self.levels if not judged.keep)


def advise(results: Results, margin: float) -> list[Advice]:
    """Return the advice on each kernel."""
    advice = []
    for source, timed in results.kernels.items():
        sizes = results.bytes.get(source, {})
        levels = [level for level in results.levels if source == PROGRAM or level in sizes or level in timed.code]
        verdicts = judge(levels or results.levels, results.requires, timed, margin)
        advice.append(Advice(source, tuple(verdicts), sizes, timed.unmeasured))
    return advice


def text_of(advice: Iterable[Advice]) -> str:
    """Return the lines on each kernel: source, levels above the lowest, and the isa.toml line that drops levels."""
    lines = []
    for kernel in advice:
        lines.append(kernel.source or "the whole program")
        if len(kernel.levels) == 1:
            lines.append(f"  {kernel.levels[0].level} alone is built")
        for judged in kernel.levels[1:]:
            size = f"{kernel.bytes[judged.level]:,} bytes" if judged.level in kernel.bytes else ""
            reasons = "; ".join(map(shown, judged.comparisons)) or "not measured"
            verb = "keep" if judged.keep else "drop"
            lines.append(f"  {verb}  {judged.level:<12} {size:>15}  {reasons}")
        if kernel.dropped and kernel.unmeasured:
            lines.append(f"  not measured, although of this source: {' '.join(kernel.unmeasured)}")
        elif kernel.dropped:
            key = f"kernels.{json.dumps(kernel.source)}.levels" if kernel.source else "levels"
            lines.append(f"  in isa.toml: {key} = {json.dumps([f'-{level}' for level in kernel.dropped])}")
    return "\n".join(lines) + "\n"


def shown(comparison: Comparison) -> str:
    """Return a comparison as words: 2.31 x AVX2 (2.20 to 2.40): pays."""
    bounds = f"({comparison.low:.2f} to {comparison.high:.2f})"
    return f"{comparison.speedup:.2f} x {comparison.against} {bounds}: {comparison.verdict}"
