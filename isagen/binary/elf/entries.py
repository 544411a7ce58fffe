"""Sections, symbols and groups of an ELF file, as values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from ..protocol import Binding, SymbolKind
from . import layout as e

# By the numbers in symbol tables, which are those of ELF.
KINDS = tuple(SymbolKind(value) if value in set(SymbolKind) else SymbolKind.OTHER for value in range(16))
BINDINGS = tuple(Binding(value) if value in set(Binding) else Binding.OTHER for value in range(16))

# How the names of sections start that compilers, assemblers and libraries use for data by themselves.
COMMON_DATA = (
    *(".data", ".rodata", ".bss", ".tdata", ".tbss", ".ldata", ".lrodata", ".lbss", ".sdata", ".srodata", ".sbss"),
    *(".init_array", ".fini_array", ".preinit_array", ".ctors", ".dtors", ".eh_frame", ".gcc_except_table", ".note"),
    *(".sframe", ".ARM.ex", ".got", ".toc", ".opd", ".jcr", ".tm_clone_table", ".stapsdt.base", ".gnu.linkonce"),
)


@dataclass(frozen=True)
class ElfSection:
    """A section (`isagen.binary.protocol.Section`).

    `address` is where its bytes are looked for, made up in an object, which has no addresses.
    """

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
    def in_file(self) -> bool:
        """Whether it is loaded from the file."""
        return bool(self.flags & e.SHF_ALLOC) and self.type != e.SHT_NOBITS

    @property
    def executable(self) -> bool:
        return self.in_file and bool(self.flags & e.SHF_EXECINSTR)

    @property
    def writable(self) -> bool:
        return bool(self.flags & e.SHF_WRITE)

    @property
    def constant(self) -> bool:
        """Whether the program never writes to it: code, read-only data, or data that only the loader relocates."""
        return not self.writable or self.name.startswith(".data.rel.ro")

    @property
    def findable(self) -> bool:
        """Whether it is data that code may find by the section's name: by one that compilers do not use by themselves.

        Linkers define ``__start_NAME`` for names that are C identifiers; others lead to what stands beside them.
        """
        loaded = bool(self.flags & e.SHF_ALLOC) and not self.flags & e.SHF_EXECINSTR
        return loaded and not self.name.startswith(COMMON_DATA)


class ElfSymbol(NamedTuple):
    """A symbol (`isagen.binary.protocol.Symbol`): its place in its table, and what the table says of it.

    `address` is 0 for one that is not defined. `section` is 0 where no section of the file holds it: it is undefined,
    absolute or common.
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
    placed: bool

    @property
    def defined(self) -> bool:
        return self.section != e.SHN_UNDEF

    @property
    def visible(self) -> bool:
        return self.visibility in (e.STV_DEFAULT, e.STV_PROTECTED)

    @property
    def local(self) -> bool:
        """Whether no other object than the one that defines it could refer to it.

        A linker makes hidden symbols local, and leaves them hidden.
        """
        return self.binding == Binding.LOCAL and self.visibility == e.STV_DEFAULT

    @property
    def named(self) -> bool:
        return self.name_offset != 0


def undefined(number: int, table: int) -> ElfSymbol:
    """Return a symbol that no section of the file holds."""
    return ElfSymbol(number, table, 0, SymbolKind.LABEL, Binding.LOCAL, 0, e.SHN_UNDEF, 0, 0, False)


class Group(NamedTuple):
    """A COMDAT group: a linker keeps one of all that have the same signature, a symbol's `name`."""

    section: int
    signature: int
    name: str
    members: tuple[int, ...]
