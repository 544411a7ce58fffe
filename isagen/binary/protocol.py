"""The protocols of binary formats: sections, symbols, code, and the pointers that a loader follows or fills in.

A format is a package beside this module; `isagen.binary.formats` lists them. Addresses are those that a process sees in
a linked file. An object has none, so its reader makes some up.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

from ..model.files import AnyPath

if TYPE_CHECKING:  # the two modules name each other's types
    from .pointing import Pointers, Relocations


class Kind(IntEnum):
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


CODE_KINDS = frozenset({Kind.FUNCTION, Kind.RESOLVER})
DATA_KINDS = frozenset({Kind.DATA, Kind.THREAD_DATA})
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
    def in_file(self) -> bool:
        """Whether it is loaded from the file."""

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
    def kind(self) -> Kind: ...
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
    def own(self) -> bool:
        """Whether no other object than the one that defines it could refer to it."""

    @property
    def named(self) -> bool:
        """Whether it has a name."""


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
        """Whether it tells only of symbols that other files can bind to."""

    @property
    def sections(self) -> Sequence[Section]: ...

    def __enter__(self) -> Binary: ...
    def __exit__(self, *details: object) -> None: ...

    def section_at(self, address: int) -> Section | None:
        """Return the loaded section that covers `address`."""

    def read(self, address: int, size: int) -> bytes:
        """Return up to `size` bytes at an address, none where nothing is loaded from the file."""

    def symbols(self) -> Iterator[Symbol]:
        """Yield all symbols that the file tells of."""

    def exports(self) -> Iterator[Symbol]:
        """Yield the symbols that other files can bind to: all of an object."""

    def symbol(self, number: int) -> Symbol:
        """Return the symbol of a number among `symbols`; one that is not defined where there is none."""

    def name(self, symbol: Symbol) -> str:
        """Return a symbol's name."""

    def notes(self, owner: str) -> Sequence[bytes]:
        """Return what the notes of `owner` say."""

    def unwound(self) -> Iterator[tuple[int, int]]:
        """Yield (address, size in bytes) of the functions that the tables for unwinding the stack describe."""

    def pointers(self, kinds: Relocations) -> Pointers:
        """Return the pointers of the file; `kinds` are the relocation types of its processor."""


@dataclass(frozen=True)
class Held:
    """The addresses that data of an object holds, itself or through local data that it points to.

    `code` names functions of the object that no other object knows, `names` global symbols, which may be code or data.
    """

    code: tuple[str, ...] = ()
    names: tuple[str, ...] = ()


class NamedSymbol(Protocol):
    """A global symbol of an object, by name; `size` is in bytes."""

    @property
    def name(self) -> str: ...
    @property
    def kind(self) -> Kind: ...
    @property
    def binding(self) -> Binding: ...
    @property
    def size(self) -> int: ...
    @property
    def constant(self) -> bool:
        """Whether the program never writes to it."""

    @property
    def defined(self) -> bool:
        """Whether the object defines it."""

    @property
    def code(self) -> bool:
        """Whether it names code that the object defines."""


class ObjectFile(Protocol):
    """A compiled object that can be sealed. Raises `BuildError` where it is damaged."""

    @property
    def path(self) -> AnyPath: ...
    @property
    def format(self) -> str:
        """The name of the format, the folder's."""

    @property
    def symbols(self) -> Sequence[NamedSymbol]:
        """The symbols that are not local."""

    @property
    def private_symbols(self) -> Sequence[NamedSymbol]:
        """The symbols that belong to the object's level alone, of those that a linker would merge across levels."""

    def held(self, symbol: Any) -> Held:
        """Return the addresses that the data of one of `symbols` holds."""

    def value(self, symbol: Any) -> str:
        """Return the size and the initial value of the data of one of `symbols` as text, which equal ones share."""

    @property
    def runs_at_load(self) -> bool:
        """Whether the loader runs any of its code."""

    @property
    def initialised(self) -> frozenset[str]:
        """The names of variables that code initialises, when they are first used or at load, and of their guards."""

    def held_by_sets(self) -> Mapping[str, Held]:
        """Return the addresses in each section that is findable, apart from what compilers put there for a runtime."""

    @property
    def loaded_bytes(self) -> int:
        """How many of its bytes a program loads: code, constants and data that is not zero."""

    def code(self) -> Sequence[bytes]:
        """Return the bytes of each section of code."""

    def digest(self, mark: str = "", names: Collection[str] | None = None) -> str:
        """Return a text that two objects share if their code, data and relocations are equal, names aside.

        Of symbols whose names start with `mark`, the rest of the name and the place count. With `names`, those of
        global symbols, their places count too, and so do descriptions of code, and what the object refers to.
        """

    def holds_more(self, shared: Collection[str]) -> bool:
        """Return whether it holds more than code and constants: what a program would miss, ran it an equal copy.

        That are variables but for those that are `shared` by name, functions that run at load or at exit, and all that
        is found by the name of its section.
        """

    def fingerprint(self, symbol: Any) -> str:
        """Return a text that definitions of one of `symbols` share if they are made of the same."""

    @property
    def addressed(self) -> frozenset[str]:
        """The global names that it refers to in another way than by a call, as far as that can be told."""


class Format(Protocol):
    """A binary format: the one object that its package offers."""

    @property
    def name(self) -> str:
        """Its folder's name."""

    @property
    def shown(self) -> str:
        """How messages name it: ``ELF``."""

    @property
    def systems(self) -> Sequence[str]:
        """Meson's host_machine.system() of the systems whose objects are of the format."""

    @property
    def mangling(self) -> Mangling:
        """How symbols write the names of C++."""

    @property
    def macro(self) -> str:
        """The macro that compilers predefine where they make objects of the format."""

    def starts(self, head: bytes) -> bool:
        """Return whether a file with these first bytes is of the format."""

    def architecture(self, head: bytes) -> Architecture | None:
        """Return what the code of a file with these first bytes is for; None where they do not tell."""

    def open(self, path: AnyPath, shown: str) -> Binary:
        """Open a file; messages name it `shown`."""

    def load_object(self, path: AnyPath) -> ObjectFile:
        """Read an object."""

    def seal(
        self, files: Sequence[Any], level: str, mark: str, own: Collection[str], bounded: Collection[str]
    ) -> Sequence[bytes]:
        """Return the sealed contents of objects of `level`; `mark` is a number that no other project has.

        The files are those that `load_object` returned. `own` are names of symbols that are private to the level
        besides those that a linker would merge, and `bounded` the sections that other objects look for by name.
        """

    def emptied(self, file: Any) -> bytes:
        """Return an object that takes a sealed one's place, and defines nothing; `file` is what was to be sealed."""

    def record(self, owner: str, text: bytes) -> bytes:
        """Return the bytes by which a binary says `text` of itself, for the format's template ``record.c.j2``."""

    def with_note(self, content: bytes, owner: str, text: bytes) -> bytes:
        """Return an object with the `content` of a sealed one that also says `text`, as `record` does."""
