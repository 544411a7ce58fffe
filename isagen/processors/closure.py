"""The transitive closure of a relation between names: levels require levels, features imply features."""

from __future__ import annotations

from collections.abc import Callable, Iterable


def closure(names: Iterable[str], following: Callable[[str], Iterable[str]]) -> frozenset[str]:
    """Return the `names` and all that can be reached from them; `following` returns the names that follow a name."""
    reached: set[str] = set()
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            waiting += following(name)
    return frozenset(reached)
