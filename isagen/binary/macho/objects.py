"""A Mach-O object as sealing reads it."""

from __future__ import annotations

import struct

from ..object_file import ObjectFile
from ..protocol import MERGEABLE, Section, SymbolKind
from . import layout as m
from .reader import Macho


class MachoObject(ObjectFile[Macho]):
    """A Mach-O object in memory."""

    format = Macho.format
    reader = Macho

    def _digested(self, section: Section) -> bytes:
        return struct.pack("<Q", section.flags)

    def foldable_variables(self) -> frozenset[str] | None:
        """See `ObjectFile.foldable_variables`. Each returned variable is weak, so linkers merge it across objects.

        They merge neither local data nor data before a section's first symbol.
        """
        variables: set[str] = set()
        for section in self.file.sections:
            if not section.loaded or section.executable or section.constant or not section.size:
                continue
            inside = [symbol for symbol in self.file.symbols() if symbol.section == section.index]
            named = [symbol for symbol in inside if symbol.kind != SymbolKind.SECTION]
            is_thread_local = section.flags & m.SECTION_TYPE in m.THREAD_LOCAL
            if section.findable or section.when_called or is_thread_local or not named:
                return None
            if any(symbol.binding not in MERGEABLE for symbol in named):
                return None
            if min(symbol.address for symbol in named) > section.address:
                return None
            variables.update(symbol.name for symbol in named)
        if any(symbol.kind == SymbolKind.COMMON for symbol in self.symbols):
            return None
        return frozenset(variables)
