"""The protocols of a binary format, and of an object that can be sealed.

Each format is a package in this folder; `isagen.binary.formats` lists the formats.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from ..model.files import AnyPath
from .protocol import Architecture, Binary, Binding, Mangling, SymbolKind


class PointerTargets(NamedTuple):
    """The symbols that the pointers in data lead to, directly or through local data.

    `local_code` contains the names of local functions, `global_names` those of global code and data. Pointers in the
    data of `global_names` are not followed.
    """

    local_code: tuple[str, ...] = ()
    global_names: tuple[str, ...] = ()


class NamedSymbol(NamedTuple):
    """A global, weak or unique symbol of an object; `size` is in bytes, `number` its index in the symbol table.

    `constant` symbols name data that the program never writes to. Compilers' counters for profiles are `constant` too,
    so that sealing renames them. `code` symbols name code that the object defines. Other programs and libraries cannot
    refer to `hidden` symbols. `section` is the index of the symbol's section. It is 0 for undefined symbols, and for
    absolute and common symbols, although these are `defined`.
    """

    name: str
    kind: SymbolKind
    binding: Binding
    size: int
    constant: bool
    hidden: bool
    defined: bool
    section: int
    number: int
    address: int
    code: bool


class ObjectFile(Protocol):
    """A compiled object that can be sealed. Raises `BuildError` if it is damaged."""

    @property
    def path(self) -> AnyPath: ...
    @property
    def format(self) -> str:
        """The name of its format and of the format's package."""

    @property
    def symbols(self) -> Sequence[NamedSymbol]:
        """The symbols that are not local, in the order of the symbol table."""

    @property
    def weak_code_and_constants(self) -> Sequence[NamedSymbol]:
        """The symbols of code, and the `constant` symbols, that a linker would merge across levels."""

    def pointer_targets(self, symbol: NamedSymbol) -> PointerTargets:
        """Return the targets of the pointers in the data of one of `symbols`."""

    def initial_value(self, symbol: NamedSymbol) -> str:
        """Return the initial value and the size of a symbol's data as text. Equal data has an equal text."""

    @property
    def runs_at_load(self) -> bool:
        """Whether it has functions that run at load or at exit."""

    @property
    def bounded_sections(self) -> frozenset[str]:
        """The sections to whose start or end it refers, by the symbols ``__start_NAME`` and ``__stop_NAME``."""

    @property
    def initialised_variables(self) -> frozenset[str]:
        """The names of variables that code initialises, at first use or at load, and of these variables' guards."""

    def findable_sections(self) -> Mapping[str, PointerTargets]:
        """Return the targets of the pointers in each section that code finds by name."""

    @property
    def loaded_bytes(self) -> int:
        """The number of bytes that a program loads from it: code, constants and data that is not zero."""

    def code(self) -> Sequence[bytes]:
        """Return the bytes of each section of code."""

    def digest(self, prefixes: Sequence[str]) -> str:
        """Return a digest that is equal for objects with the same loaded content, relocations and global names.

        `prefixes` may differ from level to level: if a name starts with one, the digest depends on the index of the
        prefix, and not on its text.
        """

    def foldable_variables(self) -> frozenset[str] | None:
        """Return the object's variables if the object may fold; None if it may not.

        An object may fold only if a linker merges each of its variables across objects, no function of it runs at load
        or exit, and it contains no data in a section that code finds by name.
        """


class Format(Protocol):
    """A binary format, which a package implements."""

    @property
    def name(self) -> str:
        """The name of its folder."""

    @property
    def shown(self) -> str:
        """Its name in messages: ``ELF``."""

    @property
    def systems(self) -> Sequence[str]:
        """The values of host_machine.system() for the systems whose objects have this format."""

    @property
    def mangling(self) -> Mangling:
        """How symbols encode the names of C++."""

    @property
    def object_suffixes(self) -> tuple[str, ...]:
        """The suffixes of objects' file names."""

    @property
    def archive_suffixes(self) -> tuple[str, ...]:
        """The suffixes of static libraries' file names."""

    @property
    def macros(self) -> Sequence[str]:
        """Macros. A compiler that writes objects of the format predefines one of them."""

    @property
    def gcc_args(self) -> Sequence[str]:
        """The options without which GCC's code is wrong. If GCC refuses one of them, no levels are built."""

    @property
    def links_by_script(self) -> bool:
        """Whether a script takes the linker's place, so that links are audited when they are made."""

    def starts(self, head: bytes) -> bool:
        """Return whether a file with these first bytes is of the format."""

    def architecture(self, head: bytes) -> Architecture | None:
        """Return the architecture in a file's first bytes; None if they contain none."""

    def open(self, path: AnyPath, shown: str) -> Binary:
        """Open a file; messages name it `shown`."""

    def load_object(self, path: AnyPath) -> ObjectFile:
        """Read an object."""

    def seal(
        self, file: Any, level: str, mark: str, private: Mapping[str, str], bounded_sections: Collection[str] = ()
    ) -> bytes:
        """Return the sealed content of an object of `level`; `mark` is a number that no other project has.

        The names of its `weak_code_and_constants` become private to the level. `private` contains other names that
        become private, each with the level to which it becomes private. `bounded_sections` are the sections to whose
        start or end other objects of the level refer.
        """

    def emptied(self, file: Any) -> bytes:
        """Return an object that defines nothing, to replace the sealed object of `file`."""

    def record(self, owner: str, text: bytes) -> str:
        """Return a note with `text` as the elements of a C array, for the format's template ``record.c.j2``."""

    def with_note(self, content: bytes, owner: str, text: bytes) -> bytes:
        """Return the `content` of an object with one more note: the one that `record` returns."""
