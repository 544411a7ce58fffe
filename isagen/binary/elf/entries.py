"""Entries of an ELF file's tables, decoded: sections, symbols and groups."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from ..protocol import Binding, SymbolKind
from . import layout as e

# Kinds and bindings by their number in symbol tables. The enumerations have the same numbers.
KINDS = tuple(SymbolKind(value) if value in set(SymbolKind) else SymbolKind.OTHER for value in range(16))
BINDINGS = tuple(Binding(value) if value in set(Binding) else Binding.OTHER for value in range(16))

WHEN_LOADED, AT_EXIT = "when loaded", "at exit"
# Arrays of functions that the loader calls, by name and by type. Linkers sort them by a number in the name:
# .init_array.00101.
ARRAY_NAMES = {
    **dict.fromkeys((".preinit_array", ".init_array", ".ctors"), WHEN_LOADED),
    **dict.fromkeys((".fini_array", ".dtors"), AT_EXIT),
}
ARRAY_TYPES = {e.SHT_PREINIT_ARRAY: WHEN_LOADED, e.SHT_INIT_ARRAY: WHEN_LOADED, e.SHT_FINI_ARRAY: AT_EXIT}
# Functions that the loader calls: a linker joins the parts from all objects.
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
    """A section (`isagen.binary.protocol.Section`). Objects have no addresses, so the reader assigns `address`."""

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
        """Whether a process has it in memory."""
        return bool(self.flags & e.SHF_ALLOC)

    @property
    def in_file(self) -> bool:
        """Whether it is loaded from the file."""
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
        """Whether it contains data that code may find by the section's name. Compilers do not use such a name.

        Linkers define ``__start_NAME`` if NAME is a C identifier. With any other name, code can find the section by a
        symbol in the section that the linker puts before or after it.
        """
        return self.loaded and not self.flags & e.SHF_EXECINSTR and not self.name.startswith(COMMON_DATA)

    @property
    def unwinding(self) -> bool:
        return self.name.startswith(UNWIND_TABLES)

    @property
    def when_called(self) -> str:
        """When the loader calls the functions of this array; "" for other sections."""
        by_name = (when for name, when in ARRAY_NAMES.items() if self.name.startswith(name))
        return ARRAY_TYPES.get(self.type, "") or next(by_name, "")


class ElfSymbol(NamedTuple):
    """A symbol (`isagen.binary.protocol.Symbol`), with more fields of its entry in the symbol table.

    `table` is the index of that table's section. `section` is 0 if the symbol is undefined, absolute or common; the
    latter two have `definition` set.
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
        """Whether only the object that defines it could refer to it.

        A hidden symbol is none: the linker made it local, but other objects of the link could refer to it.
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

    `section` is the index of the group's section, `signature` the number of the symbol that has the `name`, and
    `members` the indexes of the sections in the group.
    """

    section: int
    signature: int
    name: str
    members: tuple[int, ...]
