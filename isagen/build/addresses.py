"""The address rule for the objects of one level: other code enters the level's code only through stubs.

Objects outside levels cannot refer to a sealed level's code by name, because the symbols of `private_names` and the
weak constants are renamed. Three rules remain to check:

- A level registers only its own code. It may register ordinary code if it needs only features of the baseline, and no
  other level compiles the kernel source.
- No variable that all levels share points to a level's code.
- No section that code finds by its name contains a pointer to a level's code.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from ..binary.initial_values import PointerTargets
from ..binary.mangling import demangle
from ..model.errors import BuildError
from .compiled import PYTHON_MODULE, Compiled, CompiledSymbol, registration_prefixes

# gfortran's names of the variables and procedures of a module.
FORTRAN_MODULE_SYMBOL = re.compile(r"__\w+_MOD_\w+\Z")


class LevelAddresses:
    """The symbols that the `objects` of one level define.

    `lower` maps each name that the objects take from a lower level to that level. `initialised_variables` are the names
    of weak or unique variables with dynamic initialisation, and of their guards: all these are private to the level.
    """

    def __init__(self, level: str, objects: Sequence[Compiled], lower: Mapping[str, str] | None = None) -> None:
        self._level = level
        self._lower = lower or {}
        self._kernel_prefix, self._without_prefix = registration_prefixes(level)
        self._definitions: dict[str, list[CompiledSymbol]] = {}
        for compiled in objects:
            for symbol in compiled.symbols:
                if symbol.defined:
                    self._definitions.setdefault(symbol.name, []).append(symbol)
        names = frozenset().union(*(compiled.initialised_variables for compiled in objects))
        self.initialised_variables = frozenset(
            name for name in names if any(symbol.mergeable_variable for symbol in self._definitions.get(name, ()))
        )

    def private_names(self) -> frozenset[str]:
        """Return the names that are private to the level, except those of weak constants that point to no code."""
        names = set(self.initialised_variables)
        registrations = self._kernel_prefix, self._without_prefix
        for name, definitions in self._definitions.items():
            if not name.startswith(registrations) and any(self._is_private(symbol) for symbol in definitions):
                names.add(name)
        return frozenset(names)

    def _is_private(self, symbol: CompiledSymbol) -> bool:
        if symbol.mergeable_variable:
            return False
        is_of_module = FORTRAN_MODULE_SYMBOL.match(symbol.name) is not None
        return symbol.code or is_of_module or self._code_behind(symbol.pointer_targets) != ""

    def shared_variables(self, compiled: Compiled) -> Iterator[CompiledSymbol]:
        """Yield the object's variables that all levels share."""
        for symbol in compiled.symbols:
            if symbol.mergeable_variable and symbol.name not in self.initialised_variables:
                yield symbol

    def _code_behind(self, targets: PointerTargets) -> str:
        """Return the name of the first code that pointers lead to, directly or through other data; "" without one."""
        seen: set[str] = set()
        waiting = [targets]
        while waiting:
            targets = waiting.pop()
            if targets.local_code:
                return targets.local_code[0]
            for name in sorted(set(targets.global_names) - seen):
                if name in self._lower:
                    return name
                seen.add(name)
                for symbol in self._definitions.get(name, ()):
                    if symbol.code:
                        return name
                    waiting.append(symbol.pointer_targets)
        return ""

    def check(self, source: str, compiled: Compiled, registers_ordinary: bool = False) -> None:
        """Raise `BuildError` if the object of a kernel `source` breaks the address rule, or defines a Python module."""
        for symbol in compiled.symbols:
            if symbol.defined and symbol.name.startswith(PYTHON_MODULE):
                raise BuildError(
                    f"{source} defines a Python module, but kernels are compiled once per level",
                    where=symbol.name,
                    remedy=f"name it in the sources of the target: py.extension_module('NAME', '{source}', ...)",
                )
            if symbol.defined and symbol.name.startswith(self._kernel_prefix):
                self._check_registered(source, symbol, registers_ordinary)
        for symbol in self.shared_variables(compiled):
            self._check_shared(source, symbol)
        for section, targets in compiled.findable_sections.items():
            if code := self._code_behind(targets):
                raise BuildError(
                    f"{source} puts the address of {demangle(code)}, a function of "
                    f"{self._lower.get(code, self._level)}, into this section, which other code finds by its name",
                    where=section,
                    remedy="do not collect functions of kernel sources in a section: register them for a stub",
                )

    def _check_registered(self, source: str, symbol: CompiledSymbol, registers_ordinary: bool) -> None:
        if self._code_behind(symbol.pointer_targets) not in ("", *self._lower):
            return
        stub = symbol.name.removeprefix(self._kernel_prefix)
        names = symbol.pointer_targets.global_names
        if names and registers_ordinary:
            return
        if names:
            raise BuildError(
                f"{source} registers {names[0]} at {self._level}, but no kernel source defines it at that level",
                where=stub,
                remedy="define it in the kernel source for every level, or register a function that calls it",
            )
        raise BuildError(
            f"{source} registers no function at {self._level}",
            where=stub,
            remedy=f"write ISA_REGISTER_NO_DISPATCH({stub}) at levels that have no kernel for it",
        )

    def _check_shared(self, source: str, symbol: CompiledSymbol) -> None:
        code = self._code_behind(symbol.pointer_targets)
        if code:
            raise BuildError(
                f"this variable of {source} is shared by all levels, but points to {demangle(code)}, a function of "
                f"{self._lower.get(code, self._level)}: code of another level could call it through the variable",
                where=demangle(symbol.name),
                remedy="make it const or constexpr without mutable members; or move it, or the function that "
                "contains it, into an anonymous namespace, so that each level has its own copy",
            )
