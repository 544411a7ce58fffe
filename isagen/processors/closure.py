"""The transitive closure of a relation between names: levels require levels, features imply features."""

from __future__ import annotations

from collections.abc import Callable, Iterable


def closure(names: Iterable[str], following: Callable[[str], Iterable[str]]) -> frozenset[str]:
    """Return the `names`, those that are `following` each, those following these, and so on."""
    found: set[str] = set()
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += following(name)
    return frozenset(found)
