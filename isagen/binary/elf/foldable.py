"""What an object contains besides code and constants: an object that contains such things does not fold."""

from __future__ import annotations

from collections.abc import Collection

from ..protocol import SymbolKind
from ..sealing_protocol import NamedSymbol
from . import layout as e
from .entries import ElfSection
from .reader import Elf
from .unwind import UNWINDING

# What compilers make of functions and constants, and tables that describe functions. A name of an assembler's or a
# user's choice may be one by which a linker script, or a program, finds what it gathers.
CODE_AND_CONSTANTS = (
    *(".text", ".rodata", ".data.rel.ro", UNWINDING, ".gcc_except_table", ".note.gnu.property", ".note.GNU-stack"),
    *(".ARM.exidx", ".ARM.extab", ".srodata", ".sframe"),
)
# Sections that are not loaded and that no program reads: debug information, the format's own, and compilers' notes.
UNLOADED = (
    *(".debug_", ".zdebug_", ".stab", ".gnu.debuglto_", ".comment", ".GCC.command.line", ".gnu.build.attributes"),
    *(".symtab", ".strtab", ".shstrtab", ".rel", ".crel", ".group", ".note.GNU-stack", ".llvm_addrsig"),
    *(".llvm.call-graph-profile", ".ARM.attributes", ".riscv.attributes", ".gnu.attributes", ".MIPS.abiflags"),
)
SHF_GNU_RETAIN = 0x200000


def foldable_variables(elf: Elf, symbols: Collection[NamedSymbol]) -> frozenset[str] | None:
    """Return the variables that an object contains besides code and constants; None where it contains more.

    The variables are those of groups, of which a linker takes one for all objects. More are variables of its own,
    functions that run at load or at exit, absolute and common symbols, and all that a linker, a script or a program may
    look for by the name of its section. RelocationTypes of a kind that is not decoded count too.
    """
    named: dict[int, set[str]] = {}
    for symbol in symbols:
        if symbol.section:
            named.setdefault(symbol.section, set()).add(symbol.name)
        elif symbol.defined:
            return None
    if any(symbol.kind == SymbolKind.RESOLVER for symbol in elf.symbols()):
        return None
    found: set[str] = set()
    for section in elf.sections:
        if not section.type or section.type == e.SHT_GROUP:
            continue
        if section.flags & SHF_GNU_RETAIN or section.type == e.SHT_CREL:
            return None
        if not section.flags & e.SHF_ALLOC:
            if not section.name.startswith(UNLOADED):
                return None
        elif section.size and not _is_common(section):
            names = named.get(section.index)
            if section.constant or not section.flags & e.SHF_GROUP or not names:
                return None
            found |= names
    return frozenset(found)


def _is_common(section: ElfSection) -> bool:
    """Return whether a section holds code or constants: by its name, and because no program writes to it."""
    name = section.name
    known = any(name == common or name.startswith(f"{common}.") for common in CODE_AND_CONSTANTS)
    return known and (section.constant or name == UNWINDING)
