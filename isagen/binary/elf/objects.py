"""An ELF object as sealing reads it: symbols that are not local, COMDAT groups, and pointers in data."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import islice

from ...model.errors import AuditError
from ...model.files import AnyPath
from ...model.names import TOOLCHAIN_SECTIONS
from ..itanium import initialised_variables, is_type
from ..object_file import SealableObject
from ..object_reader import ReadObject
from ..protocol import CODE_KINDS, MERGEABLE, SymbolKind
from ..sealing_protocol import NamedSymbol, PointerTargets
from . import layout as e
from .digest import object_digest
from .entries import LOADER_FUNCTIONS, ElfSection, ElfSymbol, Group
from .foldable import foldable_variables
from .pointers import LoadedElf
from .reader import UNREADABLE

# Clang's counters of a function (-fprofile-generate, -fcoverage-mapping). Their number differs between levels, so they
# count as constants, which sealing renames. Profiling tools add up the counters of all levels.
COUNTER_PREFIXES = ("__profc_", "__profd_", "__profvp_")
BOUNDS = ("__start_", "__stop_")


class ElfObject(SealableObject):
    """An ELF object in memory (`isagen.binary.sealing_protocol.ObjectFile`)."""

    format, shown = LoadedElf.format, "ELF"

    def __init__(self, data: bytes, path: AnyPath) -> None:
        super().__init__(data, path)
        try:
            self.elf = LoadedElf(path, data=data)
            self.sections = self.elf.sections
            if not self.elf.relocatable:
                raise ValueError("it is a program or library, not an object")
            table = self.elf.full_table
            self.groups = tuple(self._groups(table))
            # Local symbols come first; `info` of the table is the number of the first symbol that is not local.
            self.symbols = tuple(map(self._symbol, self.elf.symbols_of(table, table.info))) if table is not None else ()
        except (struct.error, IndexError, OverflowError, ValueError) as problem:
            raise self.read_error(str(problem)) from None
        except AuditError as problem:
            raise self.read_error(problem.message.removeprefix(UNREADABLE)) from None

    def _groups(self, table: ElfSection | None) -> Iterator[Group]:
        """Yield the COMDAT groups; `table` is the symbol table."""
        total = table.size // self.elf.layout.symbol.size if table is not None else 0
        for section in self.sections:
            if section.type == e.SHT_GROUP:
                form = f"{self.elf.layout.order}{section.size // 4}I"
                flags, *members = struct.unpack_from(form, self.data, section.offset)
                if flags & e.GRP_COMDAT:
                    if table is None or section.info >= total or max(members, default=0) >= len(self.sections):
                        raise ValueError("a group refers to a symbol or section that is not there")
                    name = self._name(self.elf.symbol_of(table, section.info))
                    yield Group(section.index, section.info, name, tuple(members))

    def _symbol(self, symbol: ElfSymbol) -> NamedSymbol:
        name, section = self._name(symbol), self.sections[symbol.section]
        return NamedSymbol(
            name=name,
            kind=symbol.kind,
            binding=symbol.binding,
            size=symbol.size,
            constant=symbol.defined and (section.constant or name.startswith(COUNTER_PREFIXES)),
            hidden=symbol.visibility in (e.STV_INTERNAL, e.STV_HIDDEN),
            defined=symbol.definition,
            section=symbol.section,
            number=symbol.number,
            address=symbol.address,
            code=symbol.defined and (symbol.kind in CODE_KINDS or section.executable),
        )

    def _name(self, symbol: ElfSymbol) -> str:
        """Return the name of a symbol, without the length limit of `Elf.name`."""
        start = self.sections[self.sections[symbol.table].link].offset + symbol.name_offset
        end = self.data.find(0, start)
        if end < 0:
            raise self.read_error("the name of a symbol has no end")
        return self.data[start:end].decode(errors="surrogateescape")

    def local_functions(self) -> Iterator[tuple[int, str]]:
        """Yield (number in the symbol table, name) of the local functions."""
        table = self.elf.full_table
        for symbol in islice(self.elf.symbols_of(table), table.info if table is not None else 0):
            if symbol.kind in CODE_KINDS and symbol.defined and symbol.named:
                yield symbol.number, self._name(symbol)

    @cached_property
    def weak_code_and_constants(self) -> tuple[NamedSymbol, ...]:
        """The code and constants that other objects may define too: weak and unique symbols, and those in groups.

        Constants are included because vtables point to the level's code, and the layout of a lookup table may depend on
        the level's vectors. Type information is excluded: a handler must match exceptions that any level throws.
        """
        grouped = {member for group in self.groups for member in group.members}
        mergeable = (s for s in self.symbols if s.defined and (s.binding in MERGEABLE or s.section in grouped))
        # A symbol in assembly may have no type: its kind is then LABEL.
        data = (SymbolKind.DATA, SymbolKind.LABEL)
        return tuple(s for s in mergeable if s.code or (s.constant and s.kind in data and not is_type(s.name)))

    def _reader(self) -> ReadObject:
        return self.elf

    @property
    def loaded_bytes(self) -> int:
        return sum(section.size for section in self.sections if section.in_file)

    def code(self) -> list[bytes]:
        return [self.elf.content(section) for section in self.sections if section.executable]

    def digest(self, prefixes: Sequence[str]) -> str:
        return object_digest(self.elf, prefixes)

    def foldable_variables(self) -> frozenset[str] | None:
        return foldable_variables(self.elf, self.symbols)

    @cached_property
    def runs_at_load(self) -> bool:
        if any(s.size and (s.when_called or s.name.startswith(tuple(LOADER_FUNCTIONS))) for s in self.sections):
            return True
        return any(symbol.kind == SymbolKind.RESOLVER for symbol in self.elf.symbols())

    @cached_property
    def bounded_sections(self) -> frozenset[str]:
        names = [symbol.name for symbol in self.symbols if not symbol.defined]
        return frozenset(name.removeprefix(bound) for name in names for bound in BOUNDS if name.startswith(bound))

    @cached_property
    def initialised_variables(self) -> frozenset[str]:
        return frozenset(initialised_variables([symbol.name for symbol in self.symbols]))

    def findable_sections(self) -> dict[str, PointerTargets]:
        """Return the targets of the pointers in each section that code finds by name.

        In sections that compilers fill for their run-time libraries, only pointers in variables of the source count.
        """
        data: dict[str, list[tuple[int, int, int]]] = {}
        for section in self.sections:
            if section.findable and section.in_file and section.size:
                is_toolchains = section.name in TOOLCHAIN_SECTIONS
                places = self._source_variables(section.index) if is_toolchains else [section]
                data.setdefault(section.name, []).extend((section.index, place.address, place.size) for place in places)
        return {name: self._initial_values.targets(places) for name, places in data.items()}

    def _source_variables(self, section: int) -> Iterator[ElfSymbol]:
        """Yield the symbols in a section whose names are not reserved for compilers: the variables of the source."""
        for symbol in self.elf.symbols():
            if symbol.section == section and symbol.named and not self.elf.name(symbol).startswith(("__", ".")):
                yield symbol
