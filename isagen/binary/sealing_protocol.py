"""The protocols of binary formats, and of objects that can be sealed.

A format is a package beside this module; `isagen.binary.formats` lists them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from ..model.files import AnyPath
from .protocol import Architecture, Binary, Binding, Mangling, SymbolKind


class PointerTargets(NamedTuple):
    """The symbols that data points to, directly or through local data.

    `code` are the names of local functions, `names` those of global symbols, of code or of data. What data of these
    names points to in turn is not included.
    """

    local_code: tuple[str, ...] = ()
    global_names: tuple[str, ...] = ()


class NamedSymbol(NamedTuple):
    """A global symbol of an object, by name; `size` is in bytes, `place` its index in the symbol table.

    `constant` tells that the program never writes to it, `hidden` that no other program or library can refer to it,
    `code` that it names code that the object defines. `section` is the index of the section that holds it; 0 where
    there is none: the symbol is undefined, or (`defined`) absolute or common.
    """

    name: str
    kind: SymbolKind
    binding: Binding
    size: int
    constant: bool
    hidden: bool
    defined: bool
    section: int
    place: int
    address: int
    code: bool


class ObjectFile(Protocol):
    """A compiled object that can be sealed. Raises `BuildError` where it is damaged."""

    @property
    def path(self) -> AnyPath: ...
    @property
    def format(self) -> str:
        """The format's name, as its package's."""

    @property
    def symbols(self) -> Sequence[NamedSymbol]:
        """The symbols that are not local."""

    @property
    def weak_code_and_constants(self) -> Sequence[NamedSymbol]:
        """The weak symbols that are private to the object's level; a linker would merge them."""

    def pointer_targets(self, symbol: NamedSymbol) -> PointerTargets:
        """Return the addresses that the data of one of `symbols` holds."""

    def initial_value(self, symbol: NamedSymbol) -> str:
        """Return size and initial value of a symbol's data, as text that is equal for equal data."""

    @property
    def runs_at_load(self) -> bool:
        """Whether the loader runs any of its code."""

    @property
    def bounded_sections(self) -> frozenset[str]:
        """The sections of which it uses __start_/__stop_ symbols."""

    @property
    def initialised_variables(self) -> frozenset[str]:
        """The names of variables that code initialises, when they are first used or at load, and of their guards."""

    def findable_sections(self) -> Mapping[str, PointerTargets]:
        """Return the addresses in each section that code finds by name, except those added by compilers."""

    @property
    def loaded_bytes(self) -> int:
        """How many of its bytes a program loads: code, constants and data that is not zero."""

    def code(self) -> Sequence[bytes]:
        """Return the bytes of each section of code."""

    def digest(self, marks: Sequence[str]) -> str:
        """Return a digest that is equal for objects with the same loaded content, relocations and global names.

        Prefixes in `marks` are removed from names first.
        """

    def foldable_variables(self) -> frozenset[str] | None:
        """Return its weak variables, if it contains only these, code and constants.

        Return None if the object contains more: a variable of its own, a function that runs at load or exit, or data
        that is found by its section's name. Such an object must not be folded.
        """


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
        """The values of host_machine.system() with objects of this format."""

    @property
    def mangling(self) -> Mangling:
        """How symbols write the names of C++."""

    @property
    def object_suffixes(self) -> tuple[str, ...]:
        """The suffixes of objects' file names."""

    @property
    def archive_suffixes(self) -> tuple[str, ...]:
        """The suffixes of static libraries' file names."""

    @property
    def macro(self) -> str:
        """The macro that compilers predefine where they make objects of the format."""

    def starts(self, head: bytes) -> bool:
        """Return whether a file with these first bytes is of the format."""

    def architecture(self, head: bytes) -> Architecture | None:
        """Return the architecture that a file's first bytes name; None if they name none."""

    def open(self, path: AnyPath, shown: str) -> Binary:
        """Open a file; messages name it `shown`."""

    def load_object(self, path: AnyPath) -> ObjectFile:
        """Read an object."""

    def seal(
        self, file: Any, level: str, mark: str, private: Collection[str] = (), bounded_sections: Collection[str] = ()
    ) -> bytes:
        """Return the sealed content of an object of `level`; `mark` is a number that no other project has.

        The names of its `weak_code_and_constants` become private to the level, and the names in `private` too.
        `bounded_sections` are the sections whose bounds objects of the level name.
        """

    def emptied(self, file: Any) -> bytes:
        """Return an object that defines nothing, to replace the sealed object of `file`."""

    def record(self, owner: str, text: bytes) -> bytes:
        """Return the bytes of a note with `text`, for the format's template ``record.c.j2``."""

    def with_note(self, content: bytes, owner: str, text: bytes) -> bytes:
        """Return the `content` of a sealed object with a note added, as of `record`."""
