"""An ELF object as sealing sees it: global symbols by name, COMDAT groups, and what belongs to one level alone."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import takewhile

from ...model.errors import AuditError, BuildError
from ...model.files import AnyPath, read_bytes
from ...model.names import TOOLCHAIN_SETS
from ..itanium import initialised_variables, is_type
from ..protocol import CODE_KINDS, Binding, SymbolKind
from ..sealing_protocol import NamedSymbol, PointerTargets
from . import layout as e
from .digest import digest_of
from .entries import ElfSection, ElfSymbol, Group
from .foldable import foldable_variables
from .initial_values import HeldAddresses
from .reader import UNREADABLE, Elf

# Clang's counters of a function (-fprofile-generate, -fcoverage-mapping). Their number depends on the level's code, so
# they are private, as constants are; profiling tools add up those of all levels.
COUNTERS = ("__profc_", "__profd_", "__profvp_")
BOUNDS = ("__start_", "__stop_")


class ElfObject:
    """An ELF object in memory (`isagen.binary.sealing_protocol.ObjectFile`).

    Raises `BuildError`, which names `path`, if `data` is not one.
    """

    format = Elf.format

    def __init__(self, data: bytes, path: AnyPath) -> None:
        self.data = data
        self._path = path
        try:
            self.elf = Elf(path, data=data)
            self._read()
        except (struct.error, IndexError, OverflowError, ValueError) as problem:
            raise self.broken(str(problem)) from None
        except AuditError as problem:
            raise self.broken(problem.message.removeprefix(UNREADABLE)) from None

    @classmethod
    def load(cls, path: AnyPath) -> ElfObject:
        """Read the object at `path`."""
        try:
            data = read_bytes(path)
        except OSError as problem:
            raise BuildError(f"cannot be read: {problem.strerror}", where=str(path)) from None
        return cls(data, path)

    @property
    def path(self) -> AnyPath:
        """The file."""
        return self._path

    def broken(self, what: str) -> BuildError:
        """Return the error that says what is wrong with this file."""
        return BuildError(
            f"is not an object file that isagen can read: {what}",
            where=str(self._path),
            remedy="kernels must be compiled to ELF objects; is link-time optimisation switched on by hand?",
        )

    @property
    def sections(self) -> tuple[ElfSection, ...]:
        """The sections, by index."""
        return self.elf.sections

    def _read(self) -> None:
        if not self.elf.relocatable:
            raise ValueError("it is a program or library, not an object")
        table = self.elf.full_table
        self.symbol_section = table.index if table is not None else 0
        self.groups = tuple(self._groups())
        self.symbols = tuple(self._symbols())
        symbols = table.size // self.elf.layout.symbol.size if table is not None else 0
        count = len(self.sections)
        if any(group.signature >= symbols or max(group.members, default=0) >= count for group in self.groups):
            raise ValueError("a group refers to what is not there")

    def _groups(self) -> Iterator[Group]:
        for section in self.sections:
            if section.type == e.SHT_GROUP:
                form = f"{self.elf.layout.order}{section.size // 4}I"
                words = struct.unpack_from(form, self.data, section.offset)
                if words[0] & e.GRP_COMDAT:
                    signature = self.elf.symbol_of(self.sections[self.symbol_section], section.info)
                    yield Group(section.index, section.info, self._name(signature), words[1:])

    def _symbols(self) -> Iterator[NamedSymbol]:
        """Yield the symbols that are not local. Local ones come first; `info` of the table is their number."""
        if not self.symbol_section:
            return
        table = self.sections[self.symbol_section]
        constant = [section.constant for section in self.sections]
        for symbol in self.elf.symbols_of(table, table.info):
            yield self._symbol(symbol, constant)

    @cached_property
    def local_functions(self) -> tuple[tuple[int, str], ...]:
        """The place in the symbol table and the name of each function that no other object knows."""
        table = self.sections[self.symbol_section]
        if not self.symbol_section:
            return ()
        local = takewhile(lambda symbol: symbol.number < table.info, self.elf.symbols_of(table))
        found = (symbol for symbol in local if symbol.kind in CODE_KINDS and symbol.section and symbol.name_offset)
        try:
            return tuple((symbol.number, self._name(symbol)) for symbol in found)
        except ValueError as problem:
            raise self.broken(str(problem)) from None

    def _symbol(self, symbol: ElfSymbol, constant: list[bool]) -> NamedSymbol:
        name = self._name(symbol)
        return NamedSymbol(
            name,
            symbol.kind,
            symbol.binding,
            symbol.size,
            symbol.section != 0 and (constant[symbol.section] or name.startswith(COUNTERS)),
            symbol.visibility in (e.STV_INTERNAL, e.STV_HIDDEN),
            symbol.placed,
            symbol.section,
            symbol.number,
            symbol.address,
            symbol.section != 0 and (symbol.kind in CODE_KINDS or self.sections[symbol.section].executable),
        )

    def _name(self, symbol: ElfSymbol) -> str:
        """Return the name of a symbol. Raises ValueError where it does not end."""
        start = self.sections[self.sections[symbol.table].link].offset + symbol.name_offset
        return self.data[start : self.data.index(0, start)].decode(errors="surrogateescape")

    @cached_property
    def mergeable_symbols(self) -> tuple[NamedSymbol, ...]:
        """The symbols that other objects may define too: weak and unique ones, and all that are in groups."""
        grouped = {member for group in self.groups for member in group.members}
        merged = (Binding.WEAK, Binding.UNIQUE)
        return tuple(s for s in self.symbols if s.defined and (s.binding in merged or s.section in grouped))

    @cached_property
    def weak_code_and_constants(self) -> tuple[NamedSymbol, ...]:
        return tuple(s for s in self.mergeable_symbols if is_private(s))

    @cached_property
    def _addresses(self) -> HeldAddresses:
        return HeldAddresses(self.elf, self.symbol_section)

    def pointer_targets(self, symbol: NamedSymbol) -> PointerTargets:
        return self._addresses.of(symbol.section, symbol.address, symbol.size) if symbol.section else PointerTargets()

    def initial_value(self, symbol: NamedSymbol) -> str:
        value = self._addresses.value(symbol.section, symbol.address, symbol.size) if symbol.section else "0"
        return f"{value} ({symbol.size} bytes)"

    @property
    def loaded_bytes(self) -> int:
        return sum(section.size for section in self.sections if section.in_file)

    def code(self) -> list[bytes]:
        return [self.elf.content(section) for section in self.sections if section.executable]

    def digest(self, marks: Sequence[str]) -> str:
        return digest_of(self.elf, marks)

    def foldable_variables(self) -> frozenset[str] | None:
        return foldable_variables(self.elf, self.symbols)

    @cached_property
    def runs_at_load(self) -> bool:
        """Whether it has constructors, destructors or resolvers (ifunc)."""
        types = (e.SHT_PREINIT_ARRAY, e.SHT_INIT_ARRAY, e.SHT_FINI_ARRAY)
        names = (".init", ".fini", ".ctors", ".dtors")
        if any(one.size and (one.type in types or one.name.startswith(names)) for one in self.sections):
            return True
        return any(symbol.kind == SymbolKind.RESOLVER for symbol in self.elf.symbols())

    @cached_property
    def bounded_sections(self) -> frozenset[str]:
        """The sections whose bounds it names: linkers define ``__start_NAME`` and ``__stop_NAME``."""
        names = [symbol.name for symbol in self.symbols if not symbol.defined]
        return frozenset(name.removeprefix(one) for name in names for one in BOUNDS if name.startswith(one))

    @cached_property
    def initialised_variables(self) -> frozenset[str]:
        return frozenset(initialised_variables(symbol.name for symbol in self.symbols))

    def findable_sections(self) -> dict[str, PointerTargets]:
        """Return the addresses in each section that code finds by its name. Of sections that compilers fill for a
        runtime, only variables that the source names count.
        """
        found = {}
        for section in self.sections:
            name = section.name
            if not section.findable or not section.in_file or not section.size:
                continue
            if name in TOOLCHAIN_SETS:
                places = [(one.address, one.size) for one in self._named_in(section.index)]
            else:
                places = [(section.address, section.size)]
            held = [self._addresses.of(section.index, start, size) for start, size in places]
            code = tuple(name for one in held for name in one.local_code)
            found[name] = PointerTargets(code, tuple(name for one in held for name in one.global_names))
        return found

    def _named_in(self, section: int) -> Iterator[ElfSymbol]:
        """Yield the named symbols in a section, but for those with names that are reserved for compilers."""
        table = self.sections[self.symbol_section]
        for symbol in self.elf.symbols_of(table):
            if symbol.section == section and not self.elf.name(symbol).startswith(("__", ".")) and symbol.name_offset:
                yield symbol


def is_private(symbol: NamedSymbol) -> bool:
    """Return whether a mergeable symbol belongs to its object's level alone.

    Code does, and constants with it: vtables hold addresses of a level's code, and tables may be laid out for its
    vectors. Data that the program writes to, such as function statics and inline variables, stays shared as the
    language says (but for what `LevelAddresses` finds); so does type information, by which exceptions are caught.
    """
    if symbol.code:
        return True
    if symbol.kind not in (SymbolKind.DATA, SymbolKind.LABEL):  # symbols of assembly may have no type
        return False
    return symbol.section != 0 and symbol.constant and not is_type(symbol.name)
