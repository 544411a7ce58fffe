"""Folding: if the copies of a kernel source at two levels have the same code, only the lower level's copy is linked.

The higher level requires the lower one. At both levels, the stubs call the copy that is linked. A program can observe
this only if it switches levels and compares addresses of functions or constants. A copy folds if it has the same bytes,
relocations, unwind tables and stubs as the lower copy, and contains only code and constants: no variable, nothing that
runs at load or exit, and no section that code finds by name.

An inline function that several sources of a level define has one address in that level, because the linker keeps one
definition. So the sources of a level that share a private name all fold to the same level, or none of them folds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from ..binary.contents import MERGEABLE
from ..model.registrations import Registrations
from .compiled import Compiled, registration_prefixes

Objects = Mapping[str, Sequence[Compiled]]  # of one level, by kernel source
# Copies of a source fold if they have equal keys.
Key = tuple[object, ...]


class Folding:
    """Folds the kernel sources of each level; `below` maps a level to all levels that it requires."""

    def __init__(self, below: Mapping[str, Sequence[str]]) -> None:
        self._below = below
        self._keys: dict[str, dict[str, Key]] = {}

    def folded(
        self, registered: Registrations, objects: Objects, private: Iterable[str], lower: Mapping[str, str]
    ) -> dict[str, str]:
        """Return the kernel sources of a level that fold, each with the lowest level that has the same code.

        Callers fold one level after another, the lowest first. `private` are the names that sealing renames at the
        level.
        """
        level, names = registered.level, frozenset(private)
        self._keys[level] = dict(_keys_of(registered, objects, names, lower))
        levels = [(name, keys) for name, keys in self._keys.items() if name in self._below[level]]
        folded = {}
        for source, key in self._keys[level].items():
            target = next((name for name, keys in levels if keys.get(source) == key), None)
            if target is not None:
                folded[source] = target
        groups = _sharing_groups(objects, names)
        while split := [sources for sources in groups if len(set(map(folded.get, sources))) > 1]:
            for source in frozenset().union(*split):
                folded.pop(source, None)
        return folded


def _sharing_groups(objects: Objects, private: frozenset[str]) -> set[frozenset[str]]:
    sources: dict[str, set[str]] = {}
    for source, copies in objects.items():
        for compiled in copies:
            for symbol in compiled.symbols:
                if symbol.name in private:
                    sources.setdefault(symbol.name, set()).add(source)
    return {frozenset(group) for group in sources.values() if len(group) > 1}


def _keys_of(
    registered: Registrations, objects: Objects, private: frozenset[str], lower: Mapping[str, str]
) -> Iterator[tuple[str, Key]]:
    prefixes, private = registration_prefixes(registered.level), private.union(lower)
    for source, copies in objects.items():
        if all(_can_fold(compiled, private, prefixes) for compiled in copies):
            stubs = registered.kernels[source]
            used = {symbol.name for compiled in copies for symbol in compiled.symbols} & lower.keys()
            digests = tuple(compiled.code.digest for compiled in copies)
            yield source, (stubs.registers, stubs.without, tuple((name, lower[name]) for name in sorted(used)), digests)


def _can_fold(compiled: Compiled, private: frozenset[str], prefixes: tuple[str, ...]) -> bool:
    """Return whether the object contains only what may fold.

    Each name that it defines must be private, mergeable, or a registration. Mergeable data must not point to private
    symbols: the linker may keep another level's definition of the data, which points to symbols of that level.
    """
    shared = (s for s in compiled.symbols if s.defined and s.name not in private and not s.name.startswith(prefixes))
    return compiled.may_fold and all(
        symbol.binding in MERGEABLE and private.isdisjoint(symbol.pointer_targets.global_names) for symbol in shared
    )
