"""The address rule for the objects of one level: a level's code is entered through its stubs and from itself alone.

No other object can refer to a level's code by name, because sealing makes the names private that `private_names`
returns, and those of weak constants. What a level registers must be its own code, and data that all levels share must
not hold addresses of any level's code.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ..binary.formats import demangle
from ..binary.sealing_protocol import PointerTargets
from ..model.errors import BuildError
from .compiled import Compiled, CompiledSymbol, marks_of

# gfortran's names for the symbols of a module.
MODULE_DATA = re.compile(r"__\w+_MOD_\w+\Z")


class LevelAddresses:
    """The code of one level, as its `files` define it, and the data that holds addresses of it."""

    def __init__(self, level: str, files: Sequence[Compiled]) -> None:
        self._level = level
        self._marks = marks_of(level)
        self._definitions: dict[str, list[CompiledSymbol]] = {}
        for file in files:
            for symbol in file.symbols:
                if symbol.defined:
                    self._definitions.setdefault(symbol.name, []).append(symbol)
        found = frozenset().union(*(file.initialised for file in files))
        self.initialised = frozenset(
            name for name in found for symbol in self._definitions.get(name, ()) if symbol.is_mergeable_variable
        )

    def private_names(self) -> frozenset[str]:
        """Return the names that are private to the level: of code, of data that is not weak and leads to code, of
        dynamically initialised variables, and of variables of Fortran modules.
        """
        found = set(self.initialised)
        for name, definitions in self._definitions.items():
            if name.startswith(self._marks):
                continue
            for symbol in definitions:
                if symbol.code or (
                    not symbol.is_mergeable_variable and (MODULE_DATA.match(name) or self._code_in(symbol.held))
                ):
                    found.add(name)
        return frozenset(found)

    def shared(self, file: Compiled) -> Iterator[CompiledSymbol]:
        """Yield the writable variables of an object that levels share."""
        for symbol in file.symbols:
            if symbol.defined and symbol.is_mergeable_variable and symbol.name not in self.initialised:
                yield symbol

    def _code_in(self, held: PointerTargets) -> str:
        """Return the first function of the level that pointers in data lead to, directly or not; "" if none."""
        seen: set[str] = set()
        waiting = [held]
        while waiting:
            held = waiting.pop()
            if held.local_code:
                return held.local_code[0]
            for name in set(held.global_names) - seen:
                seen.add(name)
                for symbol in self._definitions.get(name, ()):
                    if symbol.code:
                        return name
                    waiting.append(symbol.held)
        return ""

    def check(self, source: str, file: Compiled) -> None:
        """Raise `BuildError` where an object of a kernel `source` breaks the rule."""
        for symbol in file.symbols:
            if symbol.defined and symbol.name.startswith(self._marks[0]):
                self._check_registered(source, symbol)
        for symbol in self.shared(file):
            self._check_shared(source, symbol)
        for name, held in file.findable.items():
            if code := self._code_in(held):
                raise BuildError(
                    f"{source} puts the address of {demangle(code)}, a function of {self._level}, into this section, "
                    f"which other code finds by its name",
                    where=name,
                    remedy="do not gather functions of kernel sources in a section: register them with a stub",
                )

    def _check_registered(self, source: str, symbol: CompiledSymbol) -> None:
        if self._code_in(symbol.held):
            return
        stub = symbol.name.removeprefix(self._marks[0])
        names = symbol.held.global_names
        if names:
            raise BuildError(
                f"{source} registers {names[0]} at {self._level}, but no kernel source defines it at that level",
                where=stub,
                remedy="define it in the kernel source for every level, or register a function that calls it",
            )
        raise BuildError(
            f"{source} registers no function at {self._level}",
            where=stub,
            remedy=f"say ISA_REGISTER_NO_DISPATCH({stub}) at levels that have no kernel for it",
        )

    def _check_shared(self, source: str, symbol: CompiledSymbol) -> None:
        code = self._code_in(symbol.held)
        if code:
            raise BuildError(
                f"this variable of {source} is shared by all levels, but leads to {demangle(code)}, a function of "
                f"{self._level}: another level, or the baseline, would call it",
                where=demangle(symbol.name),
                remedy="let it be const or constexpr, without mutable members, or put it, or the function that holds "
                "it, into an anonymous namespace: then each level has its own",
            )
