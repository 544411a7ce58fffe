"""Folding: a kernel whose code at a level is the same as at a level below is linked once, and its stubs call that.

A copy folds only if no run of the program could tell, but for one that switches levels and compares the addresses of a
function or constant from before and after. Its bytes, relocations and tables for unwinding are equal to the
lower copy's, and its stubs are the same. It holds code and constants and nothing else: no variable of its own, nothing
that runs at load or exit, nothing that is found by the name of its section.

The kernels of a level may define the same inline functions, of which a linker keeps one. There, a copy folds only if
all definitions are equal. If one kernel takes the address of such a function, or if it is a constant, all kernels with
that name fold to the same level or none does: they would see two addresses. Nor does a kernel fold that calls what
another kernel source defines.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ..binary.protocol import MERGEABLE, NamedSymbol, ObjectFile
from ..model.digests import blake2b
from ..model.names import KERNEL_SYMBOL, WITHOUT_SYMBOL
from ..model.registrations import Registrations

Objects = Mapping[str, Sequence[ObjectFile]]  # of one level, by kernel source


NOT_MERGED = ""  # in the place of the fingerprint of a definition that no linker merges with others


@dataclass(frozen=True)
class Tie:
    """A name that several kernel sources of a level have: private to the level, and in each of the `sources`.

    `equal` tells whether all define it, equally, so that it does not matter which of them a linker keeps; `called` that
    it is called and never compared.
    """

    name: str
    sources: frozenset[str]
    equal: bool
    called: bool


class Folding:
    """Folds levels, which are given lowest first; `below` are the levels that each requires."""

    def __init__(self, below: Mapping[str, Sequence[str]]) -> None:
        self._below = below
        self._alike: dict[str, dict[str, str]] = {}

    def folded(self, registered: Registrations, objects: Objects, private: Iterable[str]) -> dict[str, str]:
        """Return, by kernel source of a level that folds, the lowest level below that has its code.

        `private` are the names of the level that no other level may use.
        """
        level, names = registered.level, frozenset(private)
        ties = tuple(_ties(objects, names))
        self._alike[level] = dict(_alike(registered, objects, names, ties))
        lower = [(name, found) for name, found in self._alike.items() if name in self._below[level]]
        folded = {}
        for source, digest in self._alike[level].items():
            target = next((name for name, found in lower if found.get(source) == digest), None)
            if target is not None:
                folded[source] = target
        whole = [tie.sources for tie in ties if not tie.called]
        while apart := [sources for sources in whole if len({folded.get(one) for one in sources}) > 1]:
            for source in frozenset().union(*apart):
                folded.pop(source, None)
        return folded


def _ties(objects: Objects, private: frozenset[str]) -> Iterator[Tie]:
    """Yield the names of a level that several of its kernel sources have."""
    sources: dict[str, set[str]] = {}
    defined: dict[str, list[tuple[str, NamedSymbol]]] = {}
    for source, files in objects.items():
        for file in files:
            for symbol in file.symbols:
                if symbol.name in private:
                    sources.setdefault(symbol.name, set()).add(source)
                    if symbol.defined:
                        defined.setdefault(symbol.name, []).append((source, symbol))
    tied = {name: found for name, found in sources.items() if len(found) > 1}
    if not tied:
        return
    all_define = {name for name, found in tied.items() if found == {source for source, _ in defined.get(name, ())}}
    addressed: set[str] = set()
    prints: dict[str, set[str]] = {}
    for files in objects.values():
        for file in files:  # one after the other: not all may be in memory
            addressed.update(file.addressed)
            _add_fingerprints(prints, file, all_define)
    for name, found in tied.items():
        equal = name in all_define and len(prints[name]) == 1 and NOT_MERGED not in prints[name]
        code = all(symbol.code for _, symbol in defined.get(name, ()))
        yield Tie(name, frozenset(found), equal, code and name not in addressed)


def _add_fingerprints(prints: dict[str, set[str]], file: ObjectFile, names: Collection[str]) -> None:
    """Add the fingerprints of what an object defines by one of the `names`."""
    merged = {symbol.name for symbol in file.private_symbols}
    for symbol in file.symbols:
        if symbol.defined and symbol.name in names:
            own = file.fingerprint(symbol) if symbol.name in merged else NOT_MERGED
            prints.setdefault(symbol.name, set()).add(own)


def _alike(
    registered: Registrations, objects: Objects, private: frozenset[str], ties: Iterable[Tie]
) -> Iterator[tuple[str, str]]:
    """Yield the kernel sources in whose place an equal copy does, each with a digest, which equal ones share."""
    marks = tuple(mark.format(level=registered.level) for mark in (KERNEL_SYMBOL, WITHOUT_SYMBOL))
    unlike = {source for tie in ties if not tie.equal for source in tie.sources}
    tied = frozenset(tie.name for tie in ties)
    for source, files in objects.items():
        shared = _shared(files, private, marks)
        if source in unlike or shared is None or any(file.holds_more(shared) for file in files):
            continue
        names = shared | tied
        if len(files) > 1:  # a shim refers to the copy by name
            names |= {one.name for file in files for one in file.symbols if not one.name.startswith(marks)}
        said = registered.kernels[source]
        digest = blake2b(repr((said.registers, said.without)).encode(errors="surrogateescape"), digest_size=32)
        for file in files:
            digest.update(file.digest(marks[0], names).encode())
        yield source, digest.hexdigest()


def _shared(files: Sequence[ObjectFile], private: frozenset[str], marks: tuple[str, ...]) -> frozenset[str] | None:
    """Return the names of what a kernel's objects share with all levels.

    None where they define what others know, or where shared data holds addresses of what is private to a level.
    """
    shared = set()
    for file in files:
        for symbol in file.symbols:
            if symbol.defined and symbol.name not in private and not symbol.name.startswith(marks):
                # The lowest level's variable holds the address of that level's constant.
                if symbol.binding not in MERGEABLE or not private.isdisjoint(file.held(symbol).names):
                    return None
                shared.add(symbol.name)
    return frozenset(shared)
