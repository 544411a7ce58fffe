"""Entries of an ELF file's tables, decoded: sections, symbols and groups."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from ..protocol import Binding, SymbolKind
from . import layout as e

# The kind and the binding that each number in a symbol table stands for. The enumerations have ELF's numbers.
KINDS = tuple(SymbolKind(value) if value in set(SymbolKind) else SymbolKind.OTHER for value in range(16))
BINDINGS = tuple(Binding(value) if value in set(Binding) else Binding.OTHER for value in range(16))

WHEN_LOADED, AT_EXIT = "when loaded", "at exit"
# Arrays of functions that the loader calls, by name and by type. A name may end in a priority, by which linkers sort
# the arrays: .init_array.00101.
ARRAY_NAMES = {
    **dict.fromkeys((".preinit_array", ".init_array", ".ctors"), WHEN_LOADED),
    **dict.fromkeys((".fini_array", ".dtors"), AT_EXIT),
}
ARRAY_TYPES = {e.SHT_PREINIT_ARRAY: WHEN_LOADED, e.SHT_INIT_ARRAY: WHEN_LOADED, e.SHT_FINI_ARRAY: AT_EXIT}
# The linker joins the parts of such a section from all objects to one function, which the loader calls.
LOADER_FUNCTIONS = {".init": WHEN_LOADED, ".fini": AT_EXIT}
UNWINDING = ".eh_frame"
# Tables for unwinding the stack: no code is called through their pointers.
UNWIND_TABLES = (UNWINDING, ".gcc_except_table")
# Prefixes of the sections that compilers, assemblers and libraries use for data by themselves.
COMMON_DATA = (
    *(".data", ".rodata", ".bss", ".tdata", ".tbss", ".ldata", ".lrodata", ".lbss", ".sdata", ".srodata", ".sbss"),
    *(*ARRAY_NAMES, UNWINDING, ".gcc_except_table", ".note", ".sframe", ".ARM.ex", ".got", ".toc", ".opd", ".jcr"),
    *(".tm_clone_table", ".stapsdt.base", ".gnu.linkonce"),
)


@dataclass(frozen=True)
class ElfSection:
    """A section (`isagen.binary.object_reader.ObjectSection`). The reader assigns the addresses in an object."""

    index: int
    name: str
    type: int
    flags: int
    address: int
    offset: int
    size: int
    link: int
    info: int
    alignment: int

    @property
    def loaded(self) -> bool:
        return bool(self.flags & e.SHF_ALLOC)

    @property
    def in_file(self) -> bool:
        return self.loaded and self.type != e.SHT_NOBITS

    @property
    def executable(self) -> bool:
        return self.in_file and bool(self.flags & e.SHF_EXECINSTR)

    @property
    def writable(self) -> bool:
        return bool(self.flags & e.SHF_WRITE)

    @property
    def constant(self) -> bool:
        return not self.writable or self.name.startswith(".data.rel.ro")

    @property
    def findable(self) -> bool:
        """Whether code may find its data by its name: a name that compilers do not use by themselves.

        Linkers define ``__start_NAME`` if NAME is a C identifier. Code finds a section of another name by a symbol in a
        section that the linker places before or after it.
        """
        return self.loaded and not self.flags & e.SHF_EXECINSTR and not self.name.startswith(COMMON_DATA)

    @property
    def unwinding(self) -> bool:
        return self.name.startswith(UNWIND_TABLES)

    @property
    def when_called(self) -> str:
        by_name = (when for name, when in ARRAY_NAMES.items() if self.name.startswith(name))
        return ARRAY_TYPES.get(self.type, "") or next(by_name, "")


class ElfSymbol(NamedTuple):
    """A symbol (`isagen.binary.protocol.Symbol`), with more fields of its entry in the symbol table.

    `table` is the index of the symbol table's section. `section` is 0 if the symbol is undefined, absolute or common.
    `definition` is false only for an undefined symbol.
    """

    number: int
    table: int
    name_offset: int
    kind: SymbolKind
    binding: Binding
    visibility: int
    section: int
    address: int
    size: int
    definition: bool

    @property
    def defined(self) -> bool:
        return self.section != e.SHN_UNDEF

    @property
    def visible(self) -> bool:
        return self.visibility in (e.STV_DEFAULT, e.STV_PROTECTED)

    @property
    def local(self) -> bool:
        """Whether only the object that defines it can refer to it; in a linked file, whether only that object could.

        This is false for a hidden symbol that the linker made local: other objects of the link could refer to it.
        """
        return self.binding == Binding.LOCAL and self.visibility == e.STV_DEFAULT

    @property
    def named(self) -> bool:
        return self.name_offset != 0


def undefined(number: int, table: int) -> ElfSymbol:
    """Return an undefined symbol."""
    return ElfSymbol(number, table, 0, SymbolKind.LABEL, Binding.LOCAL, 0, e.SHN_UNDEF, 0, 0, False)


class Group(NamedTuple):
    """A COMDAT group. A linker keeps only one of the groups with the same `name`.

    `section` is the index of the group's own section, `signature` the number of the symbol that gives the `name`, and
    `members` are the indexes of the sections in the group.
    """

    section: int
    signature: int
    name: str
    members: tuple[int, ...]
