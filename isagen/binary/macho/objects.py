"""A Mach-O object as sealing reads it: type information, and variables that linkers merge."""

from __future__ import annotations

from functools import cached_property

from ..itanium import initialised_variables, is_type
from ..object_file import ObjectInMemory
from ..object_reader import ObjectSection
from ..protocol import MERGEABLE, SymbolKind
from . import layout as m
from .reader import Macho


class MachoObject(ObjectInMemory[Macho]):
    """A Mach-O object in memory (`isagen.binary.sealing_protocol.ObjectFile`)."""

    format, shown = Macho.format, "Mach-O"
    reader = Macho

    def _is_shared(self, name: str) -> bool:
        return is_type(name)

    @cached_property
    def initialised_variables(self) -> frozenset[str]:
        return frozenset(initialised_variables([symbol.name for symbol in self.symbols]))

    def _digested(self, section: ObjectSection) -> int:
        return section.flags

    def foldable_variables(self) -> frozenset[str] | None:
        """Return the variables of an object that may fold; None for an object that may not.

        Each returned variable is weak, so linkers merge it across objects. They merge neither local data nor data
        before a section's first symbol.
        """
        variables: set[str] = set()
        for section in self.file.sections:
            if not section.loaded or section.executable or section.constant or not section.size:
                continue
            inside = [symbol for symbol in self.file.symbols() if symbol.section == section.index]
            named = [symbol for symbol in inside if symbol.kind != SymbolKind.SECTION]
            if section.findable or section.when_called or section.type in m.THREAD_LOCAL or not named:
                return None
            if any(symbol.binding not in MERGEABLE for symbol in named):
                return None
            if min(symbol.address for symbol in named) > section.address:
                return None
            variables.update(self.file.name(symbol) for symbol in named)
        if any(symbol.kind == SymbolKind.COMMON for symbol in self.symbols):
            return None
        return frozenset(variables)
