"""Levels that a raised baseline contains: every CPU that runs the program supports them, so only the best one runs."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from ..model.plan import BUILT, DISABLED, Cell, Verdict

REASON = "the baseline contains it"


def contained_levels(
    languages: Collection[str], verdicts: Mapping[tuple[str, str], Verdict], baseline: Collection[str]
) -> frozenset[str]:
    """Return the levels that need only features of the `baseline`, in all `languages`."""
    needed: dict[str, set[str]] = {}
    for (level, language), verdict in verdicts.items():
        if language in languages:
            needed.setdefault(level, set()).update(verdict.features)
    return frozenset(level for level, features in needed.items() if baseline and features <= set(baseline))


def without_contained(cells: Sequence[Cell], levels: Collection[str]) -> tuple[Cell, ...]:
    """Return the `cells` of a kernel, lowest level first, without copies that no CPU would select.

    `levels` are those that the baseline contains: the best one always runs. The lowest level stays too, because a stub
    calls it if an override forbids all others.
    """
    contained = [cell for cell in cells if cell.verdict == BUILT and cell.level in levels]
    if len(contained) < 3:
        return tuple(cells)
    reason = f"{REASON}, and {contained[-1].level}, which runs in its place"
    left_out = [cell.level for cell in contained[1:-1]]
    return tuple(Cell(cell.level, DISABLED, reason) if cell.level in left_out else cell for cell in cells)
