"""The verdict of times on levels: one that is not faster than what would run in its place is not worth its bytes.

The rounds are interleaved, so that the times of one round are compared with each other: `Comparison` is about the
median of the ratios, with the bounds of a sign test, which assumes nothing of how times are distributed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import comb
from statistics import median

from .results import Results, merged
from .run import PROGRAM

# The verdicts on a level: faster by more than the margin, slower, neither, and more noise than margin.
PAYS, SLOWER, EQUAL, UNKNOWN = "pays", "slower", "no difference", "no difference beyond the noise"
SAME_CODE = "same code"
CONFIDENCE = 0.95

Times = Mapping[str, Sequence[float]]


@dataclass(frozen=True)
class Comparison:
    """A level compared with the level `against` on one machine: how many times as fast it is, within two bounds."""

    machine: str
    against: str
    speedup: float
    low: float
    high: float
    verdict: str


@dataclass(frozen=True)
class Judged:
    """A level of a kernel: whether it is worth its bytes, and the comparisons that this verdict rests on."""

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

    `codes` are digests of the copies' code, where they are known. A level is compared with the level that would run on
    the machine without it, and with the best of the levels that it `requires`, which would run elsewhere. It is dropped
    if it pays, or may pay, in no comparison on any machine.
    """
    found = [Judged(levels[0], True)]
    for level in levels[1:]:
        kept = [one.level for one in found if one.keep]
        comparisons = []
        for machine, times in machines.items():
            below = [name for name in kept if name in times] if level in times else []
            required = [name for name in below if name in requires.get(level, ())]
            for against in dict.fromkeys([*below[-1:], *required[-1:]]):
                same = level in codes and codes[level] == codes.get(against)
                comparisons.append(compare(machine, against, times[against], times[level], margin, same))
        keep = not comparisons or any(one.verdict in (PAYS, UNKNOWN) for one in comparisons)
        found.append(Judged(level, keep, tuple(comparisons)))
    return found


def compare(
    machine: str, against: str, before: Sequence[float], after: Sequence[float], margin: float, same: bool = False
) -> Comparison:
    """Compare the times of a level, `after`, with those of the level `against`, round by round.

    `margin` is the gain that is worth a copy: 0.03 for three percent. Where both have the `same` code, times say only
    how much noise there is.
    """
    ratios = sorted(one / other for one, other in zip(before, after, strict=True))
    place = _rank(len(ratios))
    low, high = ratios[place], ratios[-1 - place]
    return Comparison(machine, against, median(ratios), low, high, SAME_CODE if same else _verdict(low, high, margin))


def _verdict(low: float, high: float, margin: float) -> str:
    if low > 1 + margin:
        return PAYS
    if high < 1 - margin:
        return SLOWER
    return EQUAL if high < 1 + margin else UNKNOWN


def _rank(count: int) -> int:
    """Return how many of `count` sorted values lie outside of each bound of their median."""
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
        return tuple(one.level for one in self.levels if not one.keep)

    @property
    def saved(self) -> int:
        """The bytes of the levels that are dropped."""
        return sum(self.bytes.get(level, 0) for level in self.dropped)


def advise(results: Sequence[Results], margin: float) -> tuple[list[Advice], list[str]]:
    """Return the advice on each kernel by the results of all machines, and the results that do not count."""
    kernels, left_out = merged(results)
    first = results[0]
    found = []
    for source, machines in kernels.items():
        code = next(iter(machines.values())).code
        times = {machine: timed.seconds for machine, timed in machines.items()}
        sizes = first.bytes.get(source, {})
        levels = [level for level in first.levels if source == PROGRAM or level in sizes or level in code]
        found.append(Advice(source, tuple(judge(levels or first.levels, first.requires, times, code, margin)), sizes))
    return found, left_out


def text_of(advice: Iterable[Advice], left_out: Iterable[str], several: bool) -> str:
    """Return a line for each level of each kernel. With `several` machines, each is named."""
    lines = []
    for one in advice:
        lines.append(one.source or "the whole program")
        if len(one.levels) == 1:
            lines.append(f"  {one.levels[0].level} alone is built")
        for judged in one.levels[1:]:
            size = f"{one.bytes[judged.level]:,} bytes" if judged.level in one.bytes else ""
            said = "; ".join(shown(found, several) for found in judged.comparisons) or "not measured"
            verb = "keep" if judged.keep else "drop"
            lines.append(f"  {verb}  {judged.level:<12} {size:>15}  {said}")
        if one.saved:
            lines.append(f"  without what is dropped, {one.saved:,} bytes less")
    lines += [f"left out: {one}" for one in left_out]
    return "\n".join(lines) + "\n"


def shown(one: Comparison, several: bool) -> str:
    """Return a comparison as words: 2.31 x AVX2 (2.20 to 2.40): pays."""
    machine = f"{one.machine}: " if several else ""
    return f"{machine}{one.speedup:.2f} x {one.against} ({one.low:.2f} to {one.high:.2f}): {one.verdict}"
