"""The protocols of binary formats, and of objects that can be sealed.

A format is a package beside this module; `isagen.binary.formats` lists them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from ..model.files import AnyPath
from .protocol import Architecture, Binary, Binding, Kind, Mangling


class Held(NamedTuple):
    """The addresses in data of an object, or in local data that it points to.

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
    def looks_for(self) -> frozenset[str]:
        """The names of the sections that it finds by their names."""

    @property
    def initialised(self) -> frozenset[str]:
        """The names of variables that code initialises, when they are first used or at load, and of their guards."""

    def findable(self) -> Mapping[str, Held]:
        """Return the addresses in each section that code finds by its name, without what compilers put there."""

    @property
    def loaded_bytes(self) -> int:
        """How many of its bytes a program loads: code, constants and data that is not zero."""

    def code(self) -> Sequence[bytes]:
        """Return the bytes of each section of code."""

    def digest(self, marks: Sequence[str]) -> str:
        """Return a text that two objects share if they load the same, and other objects refer to it by the same names.

        Of names that start with one of the `marks`, the rest counts.
        """

    def variables_besides(self) -> frozenset[str] | None:
        """Return the variables that it contains besides code and constants, and that linkers merge across objects.

        Return None if the object contains more: a variable of its own, a function that runs at load or exit, or data
        that is found by its section's name. A program that ran an equal copy would miss these.
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
        self, files: Sequence[Any], level: str, mark: str, private: Collection[str], bounded: Collection[str]
    ) -> Sequence[bytes]:
        """Return the sealed contents of objects of `level`; `mark` is a number that no other project has.

        The files are those that `load_object` returned. `private` are names that are private to the level; those
        of `private_symbols` are added. `bounded` are the sections that other objects look for by name.
        """

    def emptied(self, file: Any) -> bytes:
        """Return an object that takes a sealed one's place, and defines nothing; `file` is what was to be sealed."""

    def record(self, owner: str, text: bytes) -> bytes:
        """Return the bytes by which a binary says `text` of itself, for the format's template ``record.c.j2``."""

    def with_note(self, content: bytes, owner: str, text: bytes) -> bytes:
        """Return an object with the `content` of a sealed one that also says `text`, as `record` does."""
