"""The address rule for the objects of one level: a level's code is entered through its stubs and from itself alone.

No other object can refer to a level's code by name, because sealing makes every name of it private: `private_names` are
those that the format does not make private by itself. What a level registers must be its own code, and data that all
levels share must not hold addresses of any level's code.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ..binary.protocol import MERGEABLE, Held, NamedSymbol, ObjectFile
from ..model.errors import BuildError
from ..model.names import KERNEL_SYMBOL, WITHOUT_SYMBOL

# The names that gfortran gives what a module holds.
MODULE_DATA = re.compile(r"__\w+_MOD_\w+\Z")


class LevelAddresses:
    """The code of one level, as its `files` define it, and the data that holds addresses of it."""

    def __init__(self, level: str, files: Sequence[ObjectFile]) -> None:
        self._level = level
        self._registers = KERNEL_SYMBOL.format(level=level)
        self._notes = (self._registers, WITHOUT_SYMBOL.format(level=level))
        self._definitions: dict[str, list[tuple[ObjectFile, NamedSymbol]]] = {}
        for file in files:
            for symbol in file.symbols:
                if symbol.defined:
                    self._definitions.setdefault(symbol.name, []).append((file, symbol))
        found = frozenset().union(*(file.initialised for file in files))
        self.initialised = frozenset(
            name for name in found for _, symbol in self._definitions.get(name, ()) if is_variable(symbol)
        )

    def private_names(self) -> frozenset[str]:
        """Return the names that no other level may use: of code, of unshared data that holds addresses of code, of
        variables that code initialises, and of a Fortran module's variables, which nothing but the level's own copies
        can name.
        """
        found = set(self.initialised)
        for name, definitions in self._definitions.items():
            if name.startswith(self._notes):
                continue
            for file, symbol in definitions:
                if symbol.code or (not is_variable(symbol) and (_is_of_module(name) or self.held(file, symbol))):
                    found.add(name)
        return frozenset(found)

    def shared(self, file: ObjectFile) -> Iterator[NamedSymbol]:
        """Yield the variables of an object that all levels share, which a program may write to."""
        for symbol in file.symbols:
            if symbol.defined and is_variable(symbol) and symbol.name not in self.initialised:
                yield symbol

    def held(self, file: ObjectFile, symbol: NamedSymbol) -> str:
        """Return the name of code of the level whose address the data of a symbol holds, or leads to; "" if none."""
        return self._code_in(file.held(symbol))

    def _code_in(self, held: Held) -> str:
        seen: set[str] = set()
        waiting = [held]
        while waiting:
            held = waiting.pop()
            if held.code:
                return held.code[0]
            for name in set(held.names) - seen:
                seen.add(name)
                for file, symbol in self._definitions.get(name, ()):
                    if symbol.code:
                        return name
                    waiting.append(file.held(symbol))
        return ""

    def check(self, source: str, file: ObjectFile) -> None:
        """Raise `BuildError` where an object of a kernel `source` breaks the rule."""
        for symbol in file.symbols:
            if symbol.defined and symbol.name.startswith(self._registers):
                self._check_registered(source, file, symbol)
        for symbol in self.shared(file):
            self._check_shared(source, file, symbol)
        for name, held in file.held_by_sets().items():
            if code := self._code_in(held):
                raise BuildError(
                    f"{source} puts the address of code of {self._level}, {code}, into this section, which other code "
                    f"finds by its name{f', through __start_{name}' if name.isidentifier() else ''}",
                    where=name,
                    remedy="do not gather functions of kernel sources in a section: register them with a stub",
                )

    def _check_registered(self, source: str, file: ObjectFile, symbol: NamedSymbol) -> None:
        if self.held(file, symbol):
            return
        stub = symbol.name.removeprefix(self._registers)
        names = file.held(symbol).names
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

    def _check_shared(self, source: str, file: ObjectFile, symbol: NamedSymbol) -> None:
        code = self.held(file, symbol)
        if code:
            raise BuildError(
                f"this variable of {source} is shared by all levels, but holds the address of code of {self._level}, "
                f"{code}: another level, or the baseline, would call it",
                where=symbol.name,
                remedy="let it be const or constexpr, or put it, or the function that holds it, into an anonymous "
                "namespace: then each level has its own",
            )


def _is_of_module(name: str) -> bool:
    return name.startswith("__") and "_MOD_" in name and MODULE_DATA.match(name) is not None


def is_variable(symbol: NamedSymbol) -> bool:
    """Return whether a symbol names data that linkers merge across objects and that a program may write to."""
    return symbol.binding in MERGEABLE and not symbol.code and not symbol.constant
