"""A COFF object as sealing reads it: type information, literals, and variables that linkers merge."""

from __future__ import annotations

from functools import cached_property

from ..object_file import ObjectInMemory
from ..object_reader import ObjectSection
from . import names
from .entries import UNWINDING, CoffSection
from .layout import SCN_LNK_COMDAT
from .reader import Coff

LTO = ".gnu.lto_"
# Sections that compilers use for functions and constants, and for tables that describe functions.
CODE_AND_CONSTANTS = (".text", ".rdata", *UNWINDING)


class CoffObject(ObjectInMemory[Coff]):
    """A COFF object in memory (`isagen.binary.sealing_protocol.ObjectFile`)."""

    format, shown = Coff.format, "COFF"
    reader = Coff

    def _check(self) -> None:
        if any(section.name.startswith(LTO) for section in self.file.sections):
            raise self.file.fail("it is an object for link-time optimisation")

    def _is_shared(self, name: str) -> bool:
        return names.is_type(name) or names.is_literal(name)

    @cached_property
    def initialised_variables(self) -> frozenset[str]:
        return frozenset(names.initialised_variables([symbol.name for symbol in self.symbols]))

    def _digested(self, section: ObjectSection) -> int:
        return section.flags & ~SCN_LNK_COMDAT

    def foldable_variables(self) -> frozenset[str] | None:
        """Return the variables of an object that may fold; None for an object that may not.

        Each returned variable is in a COMDAT section, so linkers merge it across objects.
        """
        names: dict[int, set[str]] = {}
        for symbol in self.symbols:
            if symbol.section:
                names.setdefault(symbol.section, set()).add(symbol.name)
            elif symbol.defined:
                return None
        variables: set[str] = set()
        for section in self.file.sections:
            if section.loaded and section.size and not _is_code_or_constants(section):
                if section.constant or not section.merged or section.index not in names:
                    return None
                variables |= names[section.index]
        return frozenset(variables)


def _is_code_or_constants(section: CoffSection) -> bool:
    """Return whether compilers use the section's name for code or constants, and no program writes to it."""
    return section.constant and any(
        section.name == known or section.name.startswith((f"{known}.", f"{known}$")) for known in CODE_AND_CONSTANTS
    )
