"""The common part of readers of objects: protocols, a base class for COFF and Mach-O, and an object's pointers."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol, Self

from ..model.errors import AuditError
from ..model.files import AnyPath, read_bytes
from .protocol import (
    Architecture,
    Binary,
    Binding,
    Mangling,
    Relocation,
    RelocationTypes,
    Section,
    Symbol,
    SymbolKind,
    Target,
)


class ObjectSection(Section, Protocol):
    """A section of an object. Each format's class of sections implements this protocol."""

    @property
    def offset(self) -> int:
        """The offset of its content in the file."""

    @property
    def flags(self) -> int:
        """The flags of the format."""

    @property
    def loaded(self) -> bool:
        """Whether a process maps it into memory."""

    @property
    def in_file(self) -> bool:
        """Whether a process maps it into memory, and the file has content for it."""

    @property
    def unwinding(self) -> bool:
        """Whether it describes functions for unwinding the stack."""

    @property
    def when_called(self) -> str:
        """When the loader calls the functions whose addresses it contains; "" if it is no array of functions."""


class ReadObject(Binary, Protocol):
    """An object, as the reader of its format returns it."""

    @property
    def sections(self) -> Sequence[ObjectSection]: ...
    @property
    def word(self) -> int:
        """The number of bytes of a pointer."""

    def relocations_between(self, index: int, start: int, end: int) -> Sequence[Relocation]:
        """Return the relocations of the section at `index` from `start` to before `end`, in order."""

    def relocation_symbol(self, relocation: Relocation) -> Symbol:
        """Return the symbol that a relocation refers to."""


class ObjectSymbol(NamedTuple):
    """A symbol of an object (`isagen.binary.protocol.Symbol`).

    `section` is 0 if the symbol is undefined, absolute or common. `definition` is false only for an undefined symbol.
    `size` is the distance to the next symbol, including padding. Other programs and libraries cannot refer to a
    `hidden` symbol.
    """

    number: int
    text: str
    kind: SymbolKind
    binding: Binding
    section: int
    address: int
    size: int
    definition: bool
    hidden: bool = False

    @property
    def defined(self) -> bool:
        return self.section != 0

    @property
    def visible(self) -> bool:
        return self.binding != Binding.LOCAL and not self.hidden

    @property
    def local(self) -> bool:
        return self.binding == Binding.LOCAL

    @property
    def named(self) -> bool:
        return bool(self.text)


UNDEFINED = ObjectSymbol(0, "", SymbolKind.LABEL, Binding.LOCAL, 0, 0, 0, False)


class ObjectReader:
    """A COFF or Mach-O object, on disk or, with `data`, in memory. Raises `AuditError` if it is damaged.

    `isagen.binary.protocol.Binary` documents its methods. A subclass for each format reads the sections, the symbols
    and the relocations. The first item of `sections` stands for "no section".
    """

    format: str
    unreadable: str  # the start of the error for a damaged file
    mangling: Mangling
    machine: int
    architecture: Architecture | None
    sections: Sequence[ObjectSection]
    relocatable, fixed, stripped, names_tell_levels = True, False, False, False
    levels: frozenset[str] = frozenset()
    word = 8

    def __init__(self, path: AnyPath, shown: str = "", data: bytes | None = None) -> None:
        self.path = Path(path)
        self.shown = shown or str(path)
        self._symbols: dict[int, ObjectSymbol] = {}
        try:
            self.data = data if data is not None else read_bytes(path)
            self._read()
        except OSError as problem:
            raise AuditError(f"cannot be read: {problem.strerror}", where=self.shown) from None
        except (struct.error, IndexError, ValueError) as problem:
            raise self.fail(f"it is damaged: {problem}") from None

    def _read(self) -> None:
        raise NotImplementedError

    @property
    def relocations(self) -> Mapping[int, Sequence[Relocation]]:
        """The relocations of each section, by its index, in order.

        Addends count as in ELF: from the relocated place, and not from the end of the instruction.
        """
        raise NotImplementedError

    def fail(self, problem: str) -> AuditError:
        """Return the error for a file that is damaged or of another format."""
        return AuditError(self.unreadable + problem, where=self.shown)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *details: object) -> None:
        return None

    def level_at(self, address: int) -> str:
        return ""  # nothing audits sealed objects of these formats

    def section_at(self, address: int) -> ObjectSection | None:
        return next((s for s in self.sections if s.loaded and s.address <= address < s.address + s.size), None)

    def content(self, section: ObjectSection) -> bytes:
        """Return a section's bytes; none if it has no content in the file."""
        raise NotImplementedError

    def read(self, address: int, size: int) -> bytes:
        section = self.section_at(address)
        if section is None:
            return b""
        skipped = address - section.address
        return self.content(section)[skipped : skipped + size]

    def symbols(self) -> Iterator[ObjectSymbol]:
        yield from self._symbols.values()

    exports = symbols

    def symbol(self, number: int) -> ObjectSymbol:
        return self._symbols.get(number, UNDEFINED)

    def name(self, symbol: Symbol) -> str:
        assert isinstance(symbol, ObjectSymbol)
        return symbol.text

    def notes(self, owner: str) -> Sequence[bytes]:
        return []

    def unwind_table_functions(self) -> Iterator[tuple[int, int]]:
        yield from ()

    def relocations_between(self, index: int, start: int, end: int) -> Sequence[Relocation]:
        return [relocation for relocation in self.relocations[index] if start <= relocation.address < end]

    def relocation_symbol(self, relocation: Relocation) -> ObjectSymbol:
        return self.symbol(relocation.symbol)

    def pointers(self, kinds: RelocationTypes) -> ObjectPointers:
        return ObjectPointers(self, kinds)


class ObjectPointers:
    """The pointers of an object (`isagen.binary.protocol.Pointers`)."""

    def __init__(self, file: ReadObject, kinds: RelocationTypes) -> None:
        self._file = file
        self._kinds = kinds

    @property
    def slot_ranges(self) -> Sequence[tuple[int, int]]:
        return ()

    @property
    def plt_ranges(self) -> Sequence[tuple[int, int]]:
        return ()

    @property
    def resolvers(self) -> Sequence[int]:
        return ()

    def follow(self, slot: int) -> Target:
        return Target()

    def called_by_loader(self) -> Iterator[tuple[int, str]]:
        for section in self._file.sections:
            for relocation in self.relocations(section) if section.when_called else ():
                yield self.target(relocation), section.when_called

    def in_data(self) -> Iterator[tuple[int, int]]:
        for section in self._file.sections:
            if section.in_file and not section.executable and not section.unwinding:
                for relocation in self.relocations(section):
                    if relocation.kind in self._kinds.absolute and (target := self.target(relocation)):
                        yield relocation.address, target

    def relocations(self, section: Section, start: int = 0, end: int = 1 << 64) -> Sequence[Relocation]:
        found = self._file.relocations_between(section.index, start, end)
        return [relocation for relocation in found if relocation.kind not in self._kinds.parts]

    def target(self, relocation: Relocation, after: int = 0) -> int:
        symbol = self._file.relocation_symbol(relocation)
        if not symbol.defined:
            return 0
        if relocation.kind in self._kinds.relative:
            return symbol.address + relocation.addend + (after - relocation.address if after else 0)
        if relocation.kind in self._kinds.absolute:
            return symbol.address + relocation.addend - self._kinds.after_start.get(relocation.kind, 0)
        # The addend of another type, such as a distance from the GOT, may not count from the symbol.
        return symbol.address + (relocation.addend if symbol.kind is SymbolKind.SECTION else 0)

    def operand(self, relocation: Relocation, after: int) -> int:
        target = self.target(relocation, after)
        symbol = self._file.relocation_symbol(relocation)
        section = self._file.section_at(target) if target else None
        return target if section is not None and section.index == symbol.section else symbol.address

    def target_name(self, relocation: Relocation) -> str:
        return self._file.name(self._file.relocation_symbol(relocation))
