"""Folding: if a kernel has the same code at two levels, only the lower level's copy is linked, and the stubs of both
call it.

A copy folds only if no program can observe it, except one that switches levels and compares addresses of functions or
constants. Its bytes, relocations and tables for unwinding are equal to the lower copy's, and its stubs are the same. It
contains code and constants and nothing else: no variable of its own, nothing that runs at load or exit, nothing that is
found by the name of its section.

Kernel sources of a level that have a private name in common, such as that of an inline function, fold to the same level
or do not fold: a linker takes one function for all of them, and it has one address.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from ..binary.protocol import MERGEABLE
from ..model.registrations import Registrations
from .compiled import Compiled, marks_of

Objects = Mapping[str, Sequence[Compiled]]  # of one level, by kernel source
# The values that equal copies have in common: stubs with and without a kernel, and digests of objects.
Likeness = tuple[tuple[str, ...], ...]


class Folding:
    """Folds levels, which are given lowest first; `below` are the levels that each requires."""

    def __init__(self, below: Mapping[str, Sequence[str]]) -> None:
        self._below = below
        self._alike: dict[str, dict[str, Likeness]] = {}

    def folded(self, registered: Registrations, objects: Objects, private: Iterable[str]) -> dict[str, str]:
        """Return, by kernel source that folds at a level, the lowest level with the same code. `private` are the
        level's private names.
        """
        level, names = registered.level, frozenset(private)
        self._alike[level] = dict(_alike(registered, objects, names))
        lower = [(name, found) for name, found in self._alike.items() if name in self._below[level]]
        folded = {}
        for source, likeness in self._alike[level].items():
            target = next((name for name, found in lower if found.get(source) == likeness), None)
            if target is not None:
                folded[source] = target
        together = _together(objects, names)
        while apart := [sources for sources in together if len({folded.get(one) for one in sources}) > 1]:
            for source in frozenset().union(*apart):
                folded.pop(source, None)
        return folded


def _together(objects: Objects, private: frozenset[str]) -> set[frozenset[str]]:
    """Return the kernel sources that have a private name in common, for each such name."""
    sources: dict[str, set[str]] = {}
    for source, files in objects.items():
        for file in files:
            for symbol in file.symbols:
                if symbol.name in private:
                    sources.setdefault(symbol.name, set()).add(source)
    return {frozenset(found) for found in sources.values() if len(found) > 1}


def _alike(registered: Registrations, objects: Objects, private: frozenset[str]) -> Iterator[tuple[str, Likeness]]:
    """Yield the kernel sources that an equal copy can replace, each with its comparison key."""
    marks = marks_of(registered.level)
    for source, files in objects.items():
        if all(_is_replaceable(file, private, marks) for file in files):
            said = registered.kernels[source]
            yield source, (said.registers, said.without, tuple(file.code.digest for file in files))


def _is_replaceable(file: Compiled, private: frozenset[str], marks: tuple[str, ...]) -> bool:
    """Return whether an equal object can replace one.

    It cannot if the object defines names that others use, or if shared data contains addresses of private symbols.
    """
    shared = set()
    for symbol in file.symbols:
        if symbol.defined and symbol.name not in private and not symbol.name.startswith(marks):
            # The lowest level's variable holds the address of that level's constant.
            if symbol.binding not in MERGEABLE or not private.isdisjoint(symbol.held.names):
                return False
            shared.add(symbol.name)
    return file.besides is not None and file.besides <= shared
