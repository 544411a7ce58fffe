"""An ELF object as sealing reads it: COMDAT groups, counters of profiles, and sections that code finds by name."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

from ...model.names import TOOLCHAIN_SECTIONS
from ..contents import MERGEABLE, Section, Symbol, SymbolKind
from ..object_file import ObjectFile
from . import layout as e
from .pointers import LoadedElf
from .reader import LOADER_FUNCTIONS

# Clang's counters of a function and their descriptions (-fprofile-generate, -fcoverage-mapping). The number of counters
# may differ between levels, so levels cannot share them: these symbols count as constants, which sealing renames.
# Profiling tools add up the counters of all levels.
COUNTER_PREFIXES = ("__profc_", "__profd_", "__profvp_")
BOUNDS = ("__start_", "__stop_")
# Prefixes of sections that are not loaded, and do not affect what a program does: debug information, the format's
# tables, and notes of compilers.
UNLOADED = (
    *(".debug_", ".zdebug_", ".stab", ".gnu.debuglto_", ".comment", ".GCC.command.line", ".gnu.build.attributes"),
    *(".symtab", ".strtab", ".shstrtab", ".rel", ".group", ".note.GNU-stack", ".llvm_addrsig"),
    *(".llvm.call-graph-profile", ".ARM.attributes", ".riscv.attributes", ".gnu.attributes", ".MIPS.abiflags"),
)


class Group(NamedTuple):
    """A COMDAT group. A linker keeps only one of the groups with the same `name`.

    `section` is the index of the group's own section, and `signature` the number of the symbol that gives the `name`.
    """

    section: int
    signature: int
    name: str
    members: tuple[int, ...]


class ElfObject(ObjectFile[LoadedElf]):
    """An ELF object in memory."""

    reader = LoadedElf

    def _check(self) -> None:
        self.sections: tuple[Section, ...] = self.file.sections
        if not self.file.relocatable:
            raise self.file.fail("it is a program or library, not an object")
        self.groups = tuple(self._groups())
        self._grouped = {member for group in self.groups for member in group.members}

    def _groups(self) -> Iterator[Group]:
        table = self.file.full_table
        total = table.size // self.file.layout.symbol.size if table is not None else 0
        for section in self.sections:
            if section.type == e.SHT_GROUP and section.size >= 4:
                form = f"{self.file.layout.order}{section.size // 4}I"
                flags, *members = struct.unpack_from(form, self.file.content(section))
                if flags & e.GRP_COMDAT:
                    if section.info >= total or max(members, default=0) >= len(self.sections):
                        raise self.file.fail("a group refers to a symbol or section that is not there")
                    yield Group(section.index, section.info, self.file.symbol(section.info).name, tuple(members))

    def _not_local(self) -> Iterator[Symbol]:
        table = self.file.full_table  # its `info` is the number of the first symbol that is not local
        return self.file.symbols_of(table, table.info if table is not None else 0)

    def is_constant(self, symbol: Symbol) -> bool:
        return super().is_constant(symbol) or (symbol.defined and symbol.name.startswith(COUNTER_PREFIXES))

    @cached_property
    def _has_resolvers(self) -> bool:
        return any(symbol.kind == SymbolKind.RESOLVER for symbol in self.file.symbols())

    def _is_merged(self, symbol: Symbol) -> bool:
        return symbol.binding in MERGEABLE or symbol.section in self._grouped

    @property
    def may_fold(self) -> bool:
        unknown = (not s.loaded and s.type and not s.name.startswith(UNLOADED) for s in self.sections)
        retained = (s.flags & e.SHF_GNU_RETAIN for s in self.sections)
        return super().may_fold and not (self._has_resolvers or any(unknown) or any(retained))

    @property
    def runs_at_load(self) -> bool:
        joined = (s.size and s.name.startswith(tuple(LOADER_FUNCTIONS)) for s in self.sections)
        return super().runs_at_load or any(joined) or self._has_resolvers

    @cached_property
    def bounded_sections(self) -> frozenset[str]:  # type: ignore[override]
        names = [symbol.name for symbol in self.symbols if not symbol.definition]
        return frozenset(name.removeprefix(bound) for name in names for bound in BOUNDS if name.startswith(bound))

    def _findable_data(self, section: Section) -> Iterator[tuple[int, int, int]]:
        if section.name not in TOOLCHAIN_SECTIONS:
            yield from super()._findable_data(section)
            return
        # Compilers fill the section for their run-time libraries. It may also contain variables of the source: their
        # names are not reserved for compilers.
        for symbol in self.file.symbols():
            if symbol.section == section.index and symbol.name and not symbol.name.startswith(("__", ".")):
                yield section.index, symbol.address, symbol.size
