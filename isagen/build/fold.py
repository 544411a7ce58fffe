"""Folding: a kernel whose code at a level is the same as at a level below is linked once, and its stubs call that.

A copy folds only if no run of the program could tell. Its bytes, constants and relocations are equal to the lower
copy's, and its stubs are the same. It holds no variable of its own, nothing that runs at load or exit, and no element
of a set. No other kernel of its level calls it by name, nor it another's. And of the inline functions that it shares
with other kernels of its level, a linker would keep equal ones, whichever it takes; at the lower level too.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Mapping, Sequence

from ..binary.protocol import MERGEABLE, NamedSymbol, ObjectFile
from ..model.names import KERNEL_SYMBOL, WITHOUT_SYMBOL
from ..model.plan import Plan
from ..model.registrations import Registrations

Objects = Mapping[str, Sequence[ObjectFile]]  # of one level, by kernel source


class Folding:
    """Folds the levels of a plan, which are given lowest first."""

    def __init__(self, plan: Plan) -> None:
        self._below = {level.name: level.below for level in plan.levels}
        self._alike: dict[str, dict[str, str]] = {}

    def folded(self, registered: Registrations, objects: Objects, private: Collection[str]) -> dict[str, str]:
        """Return, by kernel source of a level that folds, the lowest level below that has its code.

        `private` are the names of the level that no other level may use.
        """
        level = registered.level
        self._alike[level] = dict(_alike(registered, objects, frozenset(private)))
        lower = [(name, found) for name, found in self._alike.items() if name in self._below[level]]
        return {
            source: next(name for name, found in lower if found.get(source) == digest)
            for source, digest in self._alike[level].items()
            if any(found.get(source) == digest for _, found in lower)
        }


def _alike(registered: Registrations, objects: Objects, private: frozenset[str]) -> Iterator[tuple[str, str]]:
    """Yield the kernel sources whose objects other code of the level does not tell from equal ones, with a digest."""
    marks = tuple(mark.format(level=registered.level) for mark in (KERNEL_SYMBOL, WITHOUT_SYMBOL))
    sources: dict[str, set[str]] = {}  # by private name, the kernel sources that have it
    made_of: dict[str, list[tuple[ObjectFile, NamedSymbol]]] = {}  # by mergeable private name, the definitions
    for source, files in objects.items():
        for file in files:
            for symbol in file.symbols:
                if symbol.name in private:
                    sources.setdefault(symbol.name, set()).add(source)
                    if symbol.defined:
                        made_of.setdefault(symbol.name, []).append((file, symbol))
    ties = {name: len(found) for name, found in sources.items() if len(found) > 1}
    unlike = {name for name, count in ties.items() if not _are_equal(made_of.get(name, ()), count)}
    for source, files in objects.items():
        shared = _shared(files, private, unlike, marks)
        if shared is None or any(file.holds_more(shared) for file in files):
            continue
        said = registered.kernels[source]
        digest = hashlib.sha256(repr((said.registers, said.without)).encode(errors="surrogateescape"))
        for file in files:
            digest.update(file.digest(marks[0], shared).encode())
        yield source, digest.hexdigest()


def _are_equal(definitions: Sequence[tuple[ObjectFile, NamedSymbol]], kernels: int) -> bool:
    """Return whether all `kernels` that have a name define it with the same content, of which a linker keeps one."""
    merged = all(any(symbol is one for one in file.private_symbols) for file, symbol in definitions)
    return merged and len(definitions) == kernels and len({file.fingerprint(one) for file, one in definitions}) == 1


def _shared(
    files: Sequence[ObjectFile], private: Collection[str], unlike: Collection[str], marks: tuple[str, ...]
) -> frozenset[str] | None:
    """Return the names of data that the objects of a kernel share with all levels; None where others need the objects.

    Others do by `unlike` names, and by names that are not private to the level.
    """
    shared = set()
    for file in files:
        for symbol in file.symbols:
            if symbol.name in unlike:
                return None
            if symbol.defined and symbol.name not in private and not symbol.name.startswith(marks):
                if symbol.binding not in MERGEABLE:
                    return None
                shared.add(symbol.name)
    return frozenset(shared)
