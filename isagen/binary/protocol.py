"""The protocols of binary files as the audit reads them: sections, symbols, relocations, and pointers.

An address in a linked file is the one that the linker assigned. An object has no addresses, so its reader assigns them.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path
from typing import Literal, NamedTuple, Protocol


class SymbolKind(IntEnum):
    """The kind of entity that a symbol names; the numbers are ELF's."""

    LABEL = 0  # no type: a label in assembly
    DATA = 1
    FUNCTION = 2
    SECTION = 3
    FILE = 4
    COMMON = 5
    THREAD_DATA = 6
    RESOLVER = 10  # a function that returns the address of another function to the loader (ifunc)
    OTHER = 99


class Binding(IntEnum):
    """The rule by which a linker or loader chooses among symbols of one name; the numbers are ELF's."""

    LOCAL = 0
    GLOBAL = 1
    WEAK = 2
    UNIQUE = 10  # one definition for all libraries of a process
    OTHER = 99


CODE_KINDS = frozenset({SymbolKind.FUNCTION, SymbolKind.RESOLVER})
DATA_KINDS = frozenset({SymbolKind.DATA, SymbolKind.THREAD_DATA})
MERGEABLE = frozenset({Binding.WEAK, Binding.UNIQUE})


class Section(Protocol):
    """A section: `size` bytes at `address`."""

    @property
    def index(self) -> int: ...
    @property
    def name(self) -> str: ...
    @property
    def address(self) -> int: ...
    @property
    def size(self) -> int: ...
    @property
    def executable(self) -> bool:
        """Whether it contains code that is loaded."""

    @property
    def writable(self) -> bool:
        """Whether the loader or the program may write to it."""

    @property
    def constant(self) -> bool:
        """Whether the program never writes to it. The loader may write to it, to relocate it."""

    @property
    def findable(self) -> bool:
        """Whether code may find its data by its name: a name that compilers do not use by themselves."""


class Symbol(Protocol):
    """A symbol. `number` is its index in the symbol table, and `section` the index of its section.

    `address` is 0 if the symbol is not defined.
    """

    @property
    def number(self) -> int: ...
    @property
    def kind(self) -> SymbolKind: ...
    @property
    def binding(self) -> Binding: ...
    @property
    def section(self) -> int: ...
    @property
    def address(self) -> int: ...
    @property
    def size(self) -> int: ...
    @property
    def defined(self) -> bool:
        """Whether it is defined in a section of this file."""

    @property
    def visible(self) -> bool:
        """Whether other programs and libraries can refer to it."""

    @property
    def local(self) -> bool:
        """Whether only the object that defines it can refer to it; in a linked file, whether only that object could."""

    @property
    def named(self) -> bool:
        """Whether it has a name."""


@dataclass(frozen=True)
class RelocationTypes:
    """The relocation types of one processor in one format, by the value that they write.

    In objects, `absolute` types write an address or a part of an address, and `relative` types the distance to an
    address. Those that are also `through_slot` types use the address of a pointer to the symbol, not the symbol's own.
    Relocations of `of_loader` types mark calls of functions in the loader. Those of `parts` are ignored: they mark
    places, or write the rest of a value whose first part another relocation writes. The addend of some absolute types
    counts from the start of the instruction; `after_start` maps these types to the number of bytes between that start
    and the relocated place.

    In linked files, `slot` types write the address of a symbol, `rebased` an address in the same file, and `resolved`
    the result of a resolver.
    """

    absolute: frozenset[int]
    relative: frozenset[int]
    through_slot: frozenset[int]
    slot: frozenset[int]
    rebased: int
    resolved: int
    of_loader: frozenset[int] = frozenset()
    parts: frozenset[int] = frozenset()
    after_start: Mapping[int, int] = field(default_factory=dict)


class Relocation(NamedTuple):
    """A relocation of an object. `kind` is its type, `symbol` a number in the symbol table of the section `table`."""

    address: int
    kind: int
    table: int
    symbol: int
    addend: int


class Target(NamedTuple):
    """The target of a pointer: its address if it is in this file, and its name if the loader looks it up by name.

    If `resolved` is set, the loader writes the result of a resolver to the pointer. If `null` is set, the pointer is
    NULL in the process: it refers to a weak symbol that no file defines.
    """

    address: int = 0
    name: str = ""
    resolved: bool = False
    null: bool = False


class Pointers(Protocol):
    """The pointers of a binary: in its data, in tables of the linker, and in arrays that the loader reads.

    A slot is the address of a pointer in such a table or array, through which code is called.
    """

    @property
    def slot_ranges(self) -> Sequence[tuple[int, int]]:
        """(First address, address after the last) of each table and array of pointers, in order."""

    @property
    def plt_ranges(self) -> Sequence[tuple[int, int]]:
        """(First address, address after the last) of each table of jumps through slots, in order."""

    @property
    def resolvers(self) -> Sequence[int]:
        """The addresses of resolvers, which the loader calls."""

    def follow(self, slot: int) -> Target:
        """Return the target of the pointer at a slot."""

    def called_by_loader(self) -> Iterator[tuple[int, str]]:
        """Yield the functions that the loader calls: (address, when)."""

    def in_data(self) -> Iterator[tuple[int, int]]:
        """Yield the pointers in data to addresses of this file: (address of the pointer, address of its target)."""

    def relocations(self, section: Section, start: int = 0, end: int = 1 << 64) -> Sequence[Relocation]:
        """Return the relocations of an object's section from `start` to before `end`, in order."""

    def target(self, relocation: Relocation, after: int = 0) -> int:
        """Return the address that a relocation writes, or writes the distance to; 0 if it is not in this object.

        `after` is the address after the relocated instruction; 0 for data.
        """

    def operand(self, relocation: Relocation, after: int) -> int:
        """Return the target of an instruction's relocation if it is in the section of the relocation's symbol.

        Otherwise return the symbol's address: what is next to a section is only known after the link.
        """

    def target_name(self, relocation: Relocation) -> str:
        """Return the name of the symbol of a relocation."""


def within(spans: Sequence[tuple[int, int]], address: int) -> bool:
    """Return whether an address is in one of the `spans`: (first address, address after the last) of each, in order."""
    index = bisect_right(spans, (address, 1 << 64)) - 1
    return index >= 0 and address < spans[index][1]


@dataclass(frozen=True)
class Architecture:
    """The processor of a binary's code. `machine` is its number in `format`, `shown` its name in messages.

    `bits` is the word size, and `order` the byte order.
    """

    format: str
    machine: int
    bits: int
    order: Literal["little", "big"]
    shown: str


class Mangling(Protocol):
    """How compilers encode the names of C++ in symbols. A module of functions implements it."""

    def demangle(self, symbol: str, /) -> str:
        """Return a symbol as C++ spells it, or unchanged."""

    def is_type(self, name: str, /) -> bool:
        """Return whether a symbol is the type information of a class, or the name in it."""

    def is_vtable(self, name: str, /) -> bool:
        """Return whether a symbol is the table of virtual functions of a class."""

    def is_guard(self, name: str, /) -> bool:
        """Return whether a symbol is the guard of a dynamically initialised variable."""

    def is_standard(self, name: str, /) -> bool:
        """Return whether a name of type information or of a vtable belongs to a class of the C++ library."""

    def is_destructor(self, name: str, /) -> bool:
        """Return whether a function is a destructor, whose address only compilers can take."""


class Binary(Protocol):
    """An open file of a binary format. Raises `AuditError` if it is damaged."""

    @property
    def path(self) -> Path: ...
    @property
    def shown(self) -> str:
        """The file's name in messages."""

    @property
    def format(self) -> str:
        """The name of the format and of its folder: ``elf``."""

    @property
    def mangling(self) -> Mangling:
        """How its symbols encode the names of C++."""

    @property
    def machine(self) -> int:
        """The format's number for the processor."""

    @property
    def architecture(self) -> Architecture | None:
        """The processor that its code is for; None if the file does not name a processor."""

    @property
    def relocatable(self) -> bool:
        """Whether it is an object: not linked yet."""

    @property
    def fixed(self) -> bool:
        """Whether it is loaded at the addresses in the file."""

    @property
    def stripped(self) -> bool:
        """Whether its only symbols are those that other files can bind to."""

    @property
    def names_tell_levels(self) -> bool:
        """Whether only the names of functions show their levels, so that the levels in a stripped file are unknown."""

    @property
    def sections(self) -> Sequence[Section]: ...

    def __enter__(self) -> Binary: ...
    def __exit__(self, *details: object) -> None: ...

    @property
    def levels(self) -> frozenset[str]:
        """The sealed levels whose code it contains."""

    def level_at(self, address: int) -> str:
        """Return the sealed level whose code is at an address; "" if there is none."""

    def section_at(self, address: int) -> Section | None:
        """Return the loaded section that covers `address`."""

    def read(self, address: int, size: int) -> bytes:
        """Return up to `size` bytes at an address; no bytes if the file has no content there."""

    def symbols(self) -> Iterator[Symbol]:
        """Yield all symbols of the file."""

    def exports(self) -> Iterator[Symbol]:
        """Yield the symbols that other files can bind to; all symbols of an object."""

    def symbol(self, number: int) -> Symbol:
        """Return the symbol of `symbols` that has a number; an undefined symbol if none has it."""

    def name(self, symbol: Symbol) -> str:
        """Return a symbol's name."""

    def notes(self, owner: str) -> Sequence[bytes]:
        """Return the texts of the notes of `owner`."""

    def unwind_table_functions(self) -> Iterator[tuple[int, int]]:
        """Yield (address, size in bytes) of each function in the tables for unwinding the stack."""

    def pointers(self, kinds: RelocationTypes) -> Pointers:
        """Return the pointers of the file; `kinds` are the relocation types of its processor."""
