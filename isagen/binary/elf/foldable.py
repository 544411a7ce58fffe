"""Decides whether an object may fold: it contains only code, constants and variables that linkers merge."""

from __future__ import annotations

from collections.abc import Collection

from ..protocol import SymbolKind
from ..sealing_protocol import NamedSymbol
from . import layout as e
from .entries import UNWINDING, ElfSection
from .reader import Elf

# Sections that compilers use for functions and constants, and for tables that describe functions. A linker script or a
# program may find any other section by name.
CODE_AND_CONSTANTS = (
    *(".text", ".rodata", ".data.rel.ro", UNWINDING, ".gcc_except_table", ".note.gnu.property", ".note.GNU-stack"),
    *(".ARM.exidx", ".ARM.extab", ".srodata", ".sframe"),
)
# Prefixes of sections that are not loaded and that no program reads: debug information, the format's tables, and notes
# of compilers.
UNLOADED = (
    *(".debug_", ".zdebug_", ".stab", ".gnu.debuglto_", ".comment", ".GCC.command.line", ".gnu.build.attributes"),
    *(".symtab", ".strtab", ".shstrtab", ".rel", ".crel", ".group", ".note.GNU-stack", ".llvm_addrsig"),
    *(".llvm.call-graph-profile", ".ARM.attributes", ".riscv.attributes", ".gnu.attributes", ".MIPS.abiflags"),
)


def foldable_variables(elf: Elf, symbols: Collection[NamedSymbol]) -> frozenset[str] | None:
    """Return the variables of an object that may fold; None for an object that may not.

    Each returned variable is in a COMDAT group, so linkers merge it across objects. These prevent folding: variables in
    no such group, functions that run at load or at exit, absolute and common symbols, sections that a linker script or
    a program may find by name, and relocations in a form that is not read.
    """
    names: dict[int, set[str]] = {}
    for symbol in symbols:
        if symbol.section:
            names.setdefault(symbol.section, set()).add(symbol.name)
        elif symbol.defined:
            return None
    if any(symbol.kind == SymbolKind.RESOLVER for symbol in elf.symbols()):
        return None
    variables: set[str] = set()
    for section in elf.sections:
        if not section.type or section.type == e.SHT_GROUP:
            continue
        if section.flags & e.SHF_GNU_RETAIN or section.type == e.SHT_CREL:
            return None
        if not section.flags & e.SHF_ALLOC:
            if not section.name.startswith(UNLOADED):
                return None
        elif section.size and not _is_code_or_constants(section):
            if section.constant or not section.flags & e.SHF_GROUP or section.index not in names:
                return None
            variables |= names[section.index]
    return frozenset(variables)


def _is_code_or_constants(section: ElfSection) -> bool:
    """Return whether compilers use the section's name for code or constants, and no program writes to it."""
    name = section.name
    is_listed = any(name == known or name.startswith(f"{known}.") for known in CODE_AND_CONSTANTS)
    return is_listed and (section.constant or name == UNWINDING)
