"""The protocols of binary files as the audit reads them: sections, symbols, relocations, and pointers.

Addresses are those of a process that loads a linked file. An object has none: its reader makes them up.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import Literal, Protocol


class SymbolKind(IntEnum):
    """The kind of thing that a symbol names."""

    LABEL = 0  # of no type, as assembly has them
    DATA = 1
    FUNCTION = 2
    SECTION = 3
    FILE = 4
    COMMON = 5
    THREAD_DATA = 6
    RESOLVER = 10  # a function that the loader asks for the address of another (ifunc)
    OTHER = 99


class Binding(IntEnum):
    """The rule by which a linker or loader takes one of several symbols of one name."""

    LOCAL = 0
    GLOBAL = 1
    WEAK = 2
    UNIQUE = 10  # one for all libraries of a process
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
        """Whether it holds code that is loaded."""

    @property
    def writable(self) -> bool:
        """Whether the program may write to it."""

    @property
    def constant(self) -> bool:
        """Whether the program never writes to it, though the loader may."""

    @property
    def findable(self) -> bool:
        """Whether it is data that code may find by the section's name: one that compilers do not use by themselves."""


class Symbol(Protocol):
    """A symbol: its `number` in its table, what it names, and where; `address` is 0 where it is not defined here."""

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
        """Whether this file defines it, in a section of its own."""

    @property
    def visible(self) -> bool:
        """Whether other programs and libraries can refer to it."""

    @property
    def local(self) -> bool:
        """Whether no other object than the one that defines it could refer to it."""

    @property
    def named(self) -> bool:
        """Whether it has a name."""


@dataclass(frozen=True)
class RelocationTypes:
    """The relocation types of one processor in one format, by what they do.

    `absolute` ones hold an address, `relative` ones a distance from themselves; `through_slot` ones of these lead to a
    pointer that the loader fills in. In a linked file, `slot` ones are pointers to a symbol, `rebased` ones pointers
    into this file, and `resolved` ones pointers that a resolver's answer goes to.
    """

    absolute: frozenset[int]
    relative: frozenset[int]
    through_slot: frozenset[int]
    slot: frozenset[int]
    rebased: int
    resolved: int


@dataclass(frozen=True)
class Relocation:
    """A relocation of an object: at `address`, of the format's own `kind`, to a symbol of a table."""

    address: int
    kind: int
    table: int
    symbol: int
    addend: int
    through_slot: bool


class Pointers(Protocol):
    """The pointers of a binary that code is called through: tables of the linker, and arrays that the loader walks."""

    @property
    def spans(self) -> Sequence[tuple[int, int]]:
        """Where pointers that matter are: (first address, address after the last) of each, in order."""

    @property
    def jumps(self) -> Sequence[tuple[int, int]]:
        """Where the linker's tables of jumps through such pointers are, in the form of `spans`."""

    @property
    def resolvers(self) -> Sequence[int]:
        """The addresses of resolvers, which the loader calls."""

    def follow(self, slot: int) -> int:
        """Return the address that the pointer in `slot` leads to; 0 if that is in no place of this file."""

    def name(self, slot: int) -> str:
        """Return the name of the symbol that a pointer is for, if the loader looks it up by name."""

    def is_null(self, slot: int) -> bool:
        """Return whether a pointer stays NULL: for a weak symbol that nothing defines."""

    def is_resolved(self, slot: int) -> bool:
        """Return whether a pointer holds what a resolver answers."""

    def called_by_loader(self) -> Iterator[tuple[int, str]]:
        """Yield the functions that the loader calls: (address, when)."""

    def in_data(self) -> Iterator[tuple[int, int]]:
        """Yield the pointers in data: (where each is, address that it leads to in this file)."""

    def relocation(self, section: Section, start: int, end: int) -> Relocation | None:
        """Return the relocation of an object's section from `start` to before `end`, if there is one."""

    def relocations_of(self, section: Section) -> Sequence[Relocation]:
        """Return the relocations of an object's section, in order."""

    def target(self, relocation: Relocation, after: int = 0) -> int:
        """Return the address that an object's relocation is for; 0 if it is not in this object, or not in memory.

        `after` is the address after the instruction that it is in.
        """

    def operand(self, relocation: Relocation, after: int) -> int:
        """Return the address that the relocation of an instruction is for; its symbol's if it is out of its section.

        `after` is the address after the instruction.
        """

    def target_name(self, relocation: Relocation) -> str:
        """Return the name of the symbol that an object's relocation is for."""


def within(spans: Sequence[tuple[int, int]], address: int) -> bool:
    """Return whether an address is in one of the `spans`: (first address, address after the last) of each, in order."""
    place = bisect_right(spans, (address, 1 << 64)) - 1
    return place >= 0 and address < spans[place][1]


@dataclass(frozen=True)
class Architecture:
    """The processor of a binary's code: the `format`'s number for it, the word size in bits, and the byte order.

    `shown` is how messages name it.
    """

    format: str
    machine: int
    bits: int
    order: Literal["little", "big"]
    shown: str


class Mangling(Protocol):
    """How compilers write the names of C++ in symbols. A module of functions is one."""

    def demangle(self, symbol: str, /) -> str:
        """Return a symbol as C++ writes it, or unchanged."""

    def is_type(self, name: str, /) -> bool:
        """Return whether a symbol is the type information of a class, or its name."""

    def is_vtable(self, name: str, /) -> bool:
        """Return whether a symbol is the table of virtual functions of a class."""

    def is_guard(self, name: str, /) -> bool:
        """Return whether a symbol is the guard of a variable that code initialises."""

    def is_standard(self, name: str, /) -> bool:
        """Return whether the type information or table of a class is of the C++ library."""

    def is_destructor(self, name: str, /) -> bool:
        """Return whether a function destroys a variable: code whose address no source can take, only a compiler."""


class Binary(Protocol):
    """An open file of a binary format. Raises `AuditError` where it is damaged."""

    @property
    def path(self) -> Path: ...
    @property
    def shown(self) -> str:
        """How messages name the file."""

    @property
    def format(self) -> str:
        """The name of the format, the folder's: ``elf``."""

    @property
    def mangling(self) -> Mangling:
        """How its symbols write the names of C++."""

    @property
    def machine(self) -> int:
        """The format's number for the processor."""

    @property
    def architecture(self) -> Architecture | None:
        """The processor that its code is for; None where the file names none."""

    @property
    def relocatable(self) -> bool:
        """Whether it is an object, which has yet to be linked."""

    @property
    def fixed(self) -> bool:
        """Whether its addresses are those of the process."""

    @property
    def stripped(self) -> bool:
        """Whether its symbol table is stripped: only symbols that other files can bind to are left."""

    @property
    def sections(self) -> Sequence[Section]: ...

    def __enter__(self) -> Binary: ...
    def __exit__(self, *details: object) -> None: ...

    @property
    def levels(self) -> frozenset[str]:
        """The sealed levels whose code it contains."""

    def level_at(self, address: int) -> str:
        """Return the sealed level whose code is at an address; "" where there is none."""

    def section_at(self, address: int) -> Section | None:
        """Return the loaded section that covers `address`."""

    def read(self, address: int, size: int) -> bytes:
        """Return up to `size` bytes at an address, none where nothing is loaded from the file."""

    def symbols(self) -> Iterator[Symbol]:
        """Yield all symbols of the file."""

    def exports(self) -> Iterator[Symbol]:
        """Yield the symbols that other files can bind to: all of an object."""

    def symbol(self, number: int) -> Symbol:
        """Return the symbol of a number among `symbols`; one that is not defined where there is none."""

    def name(self, symbol: Symbol) -> str:
        """Return a symbol's name."""

    def notes(self, owner: str) -> Sequence[bytes]:
        """Return the texts of the notes of `owner`."""

    def unwind_table_functions(self) -> Iterator[tuple[int, int]]:
        """Yield (address, size in bytes) of the functions that the tables for unwinding the stack describe."""

    def pointers(self, kinds: RelocationTypes) -> Pointers:
        """Return the pointers of the file; `kinds` are the relocation types of its processor."""
