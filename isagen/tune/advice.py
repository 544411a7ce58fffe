"""What the times of a benchmark say of each kernel's levels: as text, and as settings of isa.toml."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from .judge import Comparison, Judged, judge
from .results import Results, merged
from .run import PROGRAM


@dataclass(frozen=True)
class Advice:
    """What becomes of the levels of one kernel, and the bytes that each copy adds to the program."""

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
    """Return what the results of all machines say of each kernel, and what was left out of them."""
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
    """Return what people read: a line for each level of each kernel. With `several` machines, each is named."""
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
