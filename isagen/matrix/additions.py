"""The features that flags of levels turn on and that the table does not list: they are checked too, and thus named."""

from __future__ import annotations

from collections.abc import Iterator

from ..model.plan import BUILT, Build, LevelRow
from .baseline import CPU_OPTION


def additions_text(level: LevelRow) -> str:
    """Return what the flags of a level turn on that no table lists, and the flags; "" where there is nothing."""
    if level.verdict != BUILT or not level.added:
        return ""
    flags = tuple(dict.fromkeys(flag for flags in level.flags.values() for flag in flags))
    named = [flag for flag in flags if CPU_OPTION.match(flag)] or flags
    return f"{' '.join(named)} also turns on {' '.join(level.added)}"


def additions_warnings(build: Build) -> Iterator[str]:
    """Yield what Meson shall warn of: levels that need features which the table does not list."""
    for level in build.plan.levels:
        said = additions_text(level)
        if said:
            yield (
                f"isagen: {level.name}: {said}: a CPU without one of these runs a lower level; list them in the "
                "level's features in the table, or turn them off in its flags (-mno-NAME)"
            )
