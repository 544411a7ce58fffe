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
# By what copies are compared: the stubs that they register, those without a kernel, and digests of their objects.
Key = tuple[tuple[str, ...], ...]


class Folding:
    """Folds levels; `below` are those that each requires, directly or not."""

    def __init__(self, below: Mapping[str, Sequence[str]]) -> None:
        self._below = below
        self._keys: dict[str, dict[str, Key]] = {}

    def folded(self, registered: Registrations, objects: Objects, private: Iterable[str]) -> dict[str, str]:
        """Return the lowest level with the same code, for each kernel source that folds at a level. `private` are the
        level's private names. Levels are given lowest first.
        """
        level, names = registered.level, frozenset(private)
        self._keys[level] = dict(_keys_of(registered, objects, names))
        lower = [(name, found) for name, found in self._keys.items() if name in self._below[level]]
        folded = {}
        for source, key in self._keys[level].items():
            target = next((name for name, found in lower if found.get(source) == key), None)
            if target is not None:
                folded[source] = target
        groups = _sharing_groups(objects, names)
        while split := [sources for sources in groups if len({folded.get(one) for one in sources}) > 1]:
            for source in frozenset().union(*split):
                folded.pop(source, None)
        return folded


def _sharing_groups(objects: Objects, private: frozenset[str]) -> set[frozenset[str]]:
    """Return the kernel sources that have a private name in common, for each such name."""
    sources: dict[str, set[str]] = {}
    for source, files in objects.items():
        for file in files:
            for symbol in file.symbols:
                if symbol.name in private:
                    sources.setdefault(symbol.name, set()).add(source)
    return {frozenset(found) for found in sources.values() if len(found) > 1}


def _keys_of(registered: Registrations, objects: Objects, private: frozenset[str]) -> Iterator[tuple[str, Key]]:
    """Yield the kernel sources that an equal copy can replace, each with its key."""
    marks = marks_of(registered.level)
    for source, files in objects.items():
        if all(_is_replaceable(file, private, marks) for file in files):
            said = registered.kernels[source]
            yield source, (said.registers, said.without, tuple(file.code.digest for file in files))


def _is_replaceable(file: Compiled, private: frozenset[str], marks: tuple[str, ...]) -> bool:
    """Return whether an equal object of a lower level can replace `file`.

    It cannot if `file` defines names that other objects use, or if shared data in it contains addresses of private
    symbols.
    """
    shared = set()
    for symbol in file.symbols:
        if symbol.defined and symbol.name not in private and not symbol.name.startswith(marks):
            # A shared variable that points to a private constant: after folding it might point to that of another
            # level.
            if symbol.binding not in MERGEABLE or not private.isdisjoint(symbol.held.global_names):
                return False
            shared.add(symbol.name)
    return file.besides is not None and file.besides <= shared
