"""The base class of objects that can be sealed: symbols that are not local, values of data, and a digest."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, cached_property
from hashlib import blake2b
from typing import Generic, Self, TypeVar

from ..model.errors import AuditError, BuildError
from ..model.files import AnyPath, read_bytes
from .contents import CODE_KINDS, MERGEABLE, Binding, Section, Symbol, SymbolKind
from .initial_values import InitialValues, PointerTargets
from .mangling import initialised_variables, is_literal, is_type
from .reader import Binary

MASK = (1 << 64) - 1  # makes numbers fit 64 bits: some are negative, and those of damaged objects may have more bits
DIGEST_SIZE = 8  # bytes: a collision among the thousands of objects of a build is improbable

ReaderT = TypeVar("ReaderT", bound=Binary)


class ObjectFile(Generic[ReaderT]):
    """A compiled object in memory. Raises `BuildError`, which names `path`, if `data` is not an object of the format.

    `reader` is the class that reads the format. `bounded_sections` are names of sections: the object refers to the
    start or end of each of them.
    """

    reader: type[ReaderT]
    bounded_sections: frozenset[str] = frozenset()

    def __init__(self, data: bytes, path: AnyPath) -> None:
        self.data, self.path = data, path
        try:
            self.file = self.reader(path, data=data)
            self._check()
            self.symbols = tuple(self._not_local())
        except AuditError as problem:
            raise BuildError(
                f"is not an object file that isagen can read: {problem.message.removeprefix(self.reader.unreadable)}",
                where=str(path),
                remedy="kernels must be compiled to machine code; is link-time optimisation switched on by hand?",
            ) from None
        self._initial_values = InitialValues(self.file)

    @classmethod
    def load(cls, path: AnyPath) -> Self:
        """Read the object at `path`."""
        try:
            data = read_bytes(path)
        except OSError as problem:
            raise BuildError(f"cannot be read: {problem.strerror}", where=str(path)) from None
        return cls(data, path)

    def _check(self) -> None:
        """Raise `AuditError` for an object that cannot be sealed."""

    def _not_local(self) -> Iterator[Symbol]:
        return (symbol for symbol in self.file.symbols() if symbol.binding != Binding.LOCAL)

    # ---- symbols

    def local_functions(self) -> Iterator[Symbol]:
        """Yield the local functions that have a name."""
        for symbol in self.file.symbols():
            if symbol.binding == Binding.LOCAL and symbol.defined and symbol.kind in CODE_KINDS and symbol.name:
                yield symbol

    def is_code(self, symbol: Symbol) -> bool:
        """Return whether a symbol names code that the object defines."""
        return symbol.defined and (symbol.kind in CODE_KINDS or self.file.sections[symbol.section].executable)

    def is_constant(self, symbol: Symbol) -> bool:
        """Return whether the object defines a symbol in a section that the program never writes to."""
        return symbol.defined and self.file.sections[symbol.section].constant

    @cached_property
    def weak_code_and_constants(self) -> tuple[Symbol, ...]:
        """The symbols of code and constants that a linker would merge across levels.

        Constants are included because vtables point to the level's code, and the layout of a lookup table may depend on
        the level's vectors. Type information is excluded: a handler must match exceptions that any level throws.
        Literals whose names tell their values are excluded too: the linker may choose any level's copy of them.
        """
        # A symbol in assembly may have no type: its kind is then LABEL.
        kinds = (SymbolKind.DATA, SymbolKind.LABEL)
        return tuple(
            s
            for s in self.symbols
            if s.defined
            and self._is_merged(s)
            and (
                self.is_code(s)
                or (self.is_constant(s) and s.kind in kinds and not (is_type(s.name) or is_literal(s.name)))
            )
        )

    def _is_merged(self, symbol: Symbol) -> bool:
        return symbol.binding in MERGEABLE

    @cached_property
    def initialised_variables(self) -> frozenset[str]:
        """The names of variables that code initialises at load or first use, and of their guards and initialisers."""
        return frozenset(initialised_variables([symbol.name for symbol in self.symbols]))

    # ---- data

    def pointer_targets(self, symbol: Symbol) -> PointerTargets:
        """Return the targets of the pointers in a symbol's data; none if the symbol is in no section."""
        data = [(symbol.section, symbol.address, symbol.size)] if symbol.defined else []
        return self._initial_values.targets(data)

    def initial_value(self, symbol: Symbol) -> str:
        """Return the initial value and the size of a symbol's data as text. Equal data has an equal text."""
        value = self._initial_values.text(symbol.section, symbol.address, symbol.size) if symbol.defined else "0"
        return f"{value} ({symbol.size} bytes)"

    def findable_sections(self) -> Mapping[str, PointerTargets]:
        """Return the targets of pointers in `findable` sections, by the section's name."""
        data: dict[str, list[tuple[int, int, int]]] = {}
        for section in self.file.sections:
            if section.findable and section.in_file and section.size:
                data.setdefault(section.name, []).extend(self._findable_data(section))
        return {name: self._initial_values.targets(places) for name, places in data.items()}

    def _findable_data(self, section: Section) -> Iterator[tuple[int, int, int]]:
        """Yield (section's index, address, size) of data that a source may define; by default, the whole section."""
        yield section.index, section.address, section.size

    # ---- sections

    @property
    def loaded_bytes(self) -> int:
        """The size of the object's `in_file` sections: code, constants and initialised data."""
        return sum(section.size for section in self.file.sections if section.in_file)

    def code(self) -> list[bytes]:
        """Return the bytes of each section of code."""
        return [self.file.content(section) for section in self.file.sections if section.executable]

    @property
    def runs_at_load(self) -> bool:
        """Whether it has functions that run at load or at exit."""
        return any(section.size and section.when_called for section in self.file.sections)

    @property
    def may_fold(self) -> bool:
        """Whether another level's object with the same digest may be linked in this object's place (`build/fold.py`).

        The object must contain only code and constants, and no section that code finds by name.
        """
        return not any(symbol.definition and not symbol.defined for symbol in self.symbols) and all(
            self._is_code_or_constants(section) for section in self.file.sections if section.loaded and section.size
        )

    def _is_code_or_constants(self, section: Section) -> bool:
        names = self.file.code_and_constants or (() if section.findable else (section.name,))
        starts = tuple(name + mark for name in names for mark in ".$")
        return section.constant and (section.name in names or section.name.startswith(starts))

    # ---- the digest

    def digest(self, prefixes: Sequence[str]) -> str:
        """Return a digest that is equal for objects with the same loaded content, relocations and global names.

        Names of local symbols in loaded sections do not affect the digest. Neither do names of sections, except those
        of arrays of functions. `prefixes` may differ between levels: if the name of a global symbol starts with one of
        them, the digest depends on the prefix's index in `prefixes`, and not on the prefix's text.
        """
        loaded = [section for section in self.file.sections if section.loaded]
        numbers = {section.index: number for number, section in enumerate(loaded)}
        position = cache(lambda number: self._position(self.file.symbol(number), numbers))
        digest = blake2b(digest_size=DIGEST_SIZE)
        for section in loaded:
            name = section.name if section.when_called else ""  # an array's name may contain its priority
            header = section.type, section.flags & ~self.file.comdat_flag, section.alignment, section.constant
            digest.update(struct.pack("<QQQ?Q", *header, section.size) + _encoded(name))
            digest.update(self.file.content(section))
        global_symbols = []
        for symbol in self.symbols:
            index = next((index for index, prefix in enumerate(prefixes) if symbol.name.startswith(prefix)), -1)
            name = symbol.name.removeprefix(prefixes[index]) if index >= 0 else symbol.name
            attributes = struct.pack("<bB?", index, symbol.binding, symbol.hidden)
            global_symbols.append(_encoded(name) + attributes + position(symbol.number))
        for content in sorted(global_symbols):
            digest.update(content)
        for section in loaded:
            for place, kind, number, addend in self.file.relocations(section):
                values = numbers[section.index], place - section.address, kind, addend & MASK
                digest.update(struct.pack("<QQQQ", *values) + position(number))
        return digest.hexdigest()

    def _position(self, symbol: Symbol, numbers: Mapping[int, int]) -> bytes:
        """Return bytes that stand for a symbol. `numbers` maps the indexes of loaded sections to 0, 1, 2 and so on."""
        if symbol.section in numbers:
            offset = symbol.address - self.file.sections[symbol.section].address
            return struct.pack("<QQ?", numbers[symbol.section], offset & MASK, symbol.kind == SymbolKind.RESOLVER)
        # The address of an absolute symbol is its value, and that of a common symbol of ELF is its alignment.
        return _encoded(symbol.name) + struct.pack("<QQ?", symbol.size, symbol.address & MASK, symbol.definition)


def _encoded(name: str) -> bytes:
    return name.encode(errors="surrogateescape") + b"\0"
