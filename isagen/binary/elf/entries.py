"""Entries of an ELF file's tables, decoded, and what names and numbers in them mean."""

from __future__ import annotations

from typing import NamedTuple

from ..contents import Binding, Section, SymbolKind
from . import layout as e

# Kinds and bindings of symbols, by their numbers in a symbol table. The enumerations have ELF's numbers.
KINDS = tuple(SymbolKind(value) if value in set(SymbolKind) else SymbolKind.OTHER for value in range(16))
BINDINGS = tuple(Binding(value) if value in set(Binding) else Binding.OTHER for value in range(16))

WHEN_LOADED, AT_EXIT = "when loaded", "at exit"
# When the loader calls the functions of an array: by the start of its section's name, which may end in a priority, such
# as .init_array.00101, and by its section's type.
ARRAY_NAMES = {
    **dict.fromkeys((".preinit_array", ".init_array", ".ctors"), WHEN_LOADED),
    **dict.fromkeys((".fini_array", ".dtors"), AT_EXIT),
}
ARRAY_TYPES = {e.SHT_PREINIT_ARRAY: WHEN_LOADED, e.SHT_INIT_ARRAY: WHEN_LOADED, e.SHT_FINI_ARRAY: AT_EXIT}
# Sections whose parts, from all objects, the linker joins into one function, which the loader calls.
LOADER_FUNCTIONS = {".init": WHEN_LOADED, ".fini": AT_EXIT}
UNWINDING = ".eh_frame"
# Writable sections to which only the loader writes: constants with addresses, and pointers for unwinding.
RELOCATED_ONLY = (".data.rel.ro", ".data.rel.local.DW.ref.", ".data.DW.ref.")
# Tables for unwinding the stack: their pointers do not count as data that leads to code, as only unwinders read them.
UNWIND_TABLES = (UNWINDING, ".gcc_except_table")
# Prefixes of the names that compilers, assemblers and libraries choose for sections. Other names come from attributes
# in sources.
COMMON_DATA = (
    *(".data", ".rodata", ".bss", ".tdata", ".tbss", ".ldata", ".lrodata", ".lbss", ".sdata", ".srodata", ".sbss"),
    *(*ARRAY_NAMES, UNWINDING, ".gcc_except_table", ".note", ".sframe", ".ARM.ex", ".got", ".toc", ".opd", ".jcr"),
    *(".tm_clone_table", ".stapsdt.base", ".gnu.linkonce"),
)


def section_of(index: int, name: str, address: int, header: tuple[int, ...]) -> Section:
    """Return the section with this header.

    Code can find the data of a `findable` section by ``__start_NAME``, which linkers define if NAME is a C identifier,
    or by a symbol in a section that the linker places before or after it.
    """
    _, kind, flags, _, offset, size, link, info, alignment, _ = header
    loaded, stored = bool(flags & e.SHF_ALLOC), kind not in (e.SHT_NULL, e.SHT_NOBITS)
    writable = bool(flags & e.SHF_WRITE)
    by_name = (when for start, when in ARRAY_NAMES.items() if name.startswith(start))
    return Section(
        index=index,
        name=name,
        address=address,
        offset=offset,
        size=size,
        stored=size if stored else 0,
        flags=flags,
        loaded=loaded,
        in_file=loaded and stored,
        executable=loaded and stored and bool(flags & e.SHF_EXECINSTR),
        writable=writable,
        constant=not writable or name.startswith(RELOCATED_ONLY),
        findable=loaded and not flags & e.SHF_EXECINSTR and not name.startswith(COMMON_DATA),
        unwinding=name.startswith(UNWIND_TABLES),
        merged=bool(flags & e.SHF_GROUP),
        when_called=ARRAY_TYPES.get(kind, "") or next(by_name, ""),
        type=kind,
        link=link,
        info=info,
        alignment=alignment,
    )


class Group(NamedTuple):
    """A COMDAT group. A linker keeps only one of the groups with the same `name`.

    `section` is the index of the group's own section, `signature` the number of the symbol that gives the `name`, and
    `members` are the indexes of the sections in the group.
    """

    section: int
    signature: int
    name: str
    members: tuple[int, ...]
