"""Base classes of objects that can be sealed: values of data, symbols that are not local, and a digest."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from hashlib import blake2b
from typing import Generic, Self, TypeVar

from ..model.errors import AuditError, BuildError
from ..model.files import AnyPath, read_bytes
from .initial_values import InitialValues
from .object_reader import ObjectReader, ObjectSection, ObjectSymbol, ReadObject
from .protocol import MERGEABLE, Binding, SymbolKind
from .sealing_protocol import NamedSymbol, PointerTargets

DIGEST_SIZE = 8  # bytes: a collision among the thousands of objects of a build is improbable

ReaderT = TypeVar("ReaderT", bound=ObjectReader)


class SealableObject:
    """An object in memory: the part of `isagen.binary.sealing_protocol.ObjectFile` that all formats share.

    Its constructor raises `BuildError`, which names `path`, if `data` is not an object of the format.
    """

    shown: str  # the format's name in messages

    def __init__(self, data: bytes, path: AnyPath) -> None:
        self.data, self.path = data, path

    @classmethod
    def load(cls, path: AnyPath) -> Self:
        """Read the object at `path`."""
        try:
            data = read_bytes(path)
        except OSError as problem:
            raise BuildError(f"cannot be read: {problem.strerror}", where=str(path)) from None
        return cls(data, path)

    def read_error(self, problem: str) -> BuildError:
        """Return the error for a file that is damaged or no object."""
        return BuildError(
            f"is not an object file that isagen can read: {problem}",
            where=str(self.path),
            remedy=f"kernels must be compiled to {self.shown} objects; is link-time optimisation switched on by hand?",
        )

    def _reader(self) -> ReadObject:
        raise NotImplementedError

    @cached_property
    def _initial_values(self) -> InitialValues:
        return InitialValues(self._reader())

    def pointer_targets(self, symbol: NamedSymbol) -> PointerTargets:
        data = [(symbol.section, symbol.address, symbol.size)] if symbol.section else []
        return self._initial_values.targets(data)

    def initial_value(self, symbol: NamedSymbol) -> str:
        value = self._initial_values.text(symbol.section, symbol.address, symbol.size) if symbol.section else "0"
        return f"{value} ({symbol.size} bytes)"


class ObjectInMemory(SealableObject, Generic[ReaderT]):
    """An object of COFF or Mach-O; `reader` is the class that reads it."""

    format: str
    reader: type[ReaderT]

    def __init__(self, data: bytes, path: AnyPath) -> None:
        super().__init__(data, path)
        try:
            self.file = self.reader(path, data=data)
            self._check()
        except AuditError as problem:
            raise self.read_error(problem.message.removeprefix(self.reader.unreadable)) from None
        self.symbols = tuple(map(self._named, (s for s in self.file.symbols() if s.binding != Binding.LOCAL)))

    def _check(self) -> None:
        """Raise `AuditError` for an object that cannot be sealed."""

    def _named(self, symbol: ObjectSymbol) -> NamedSymbol:
        section = self.file.sections[symbol.section]
        return NamedSymbol(
            name=symbol.text,
            kind=symbol.kind,
            binding=symbol.binding,
            size=symbol.size,
            constant=symbol.defined and section.constant,
            hidden=symbol.hidden,
            defined=symbol.definition,
            section=symbol.section,
            number=symbol.number,
            address=symbol.address,
            code=symbol.defined and section.executable,
        )

    def local_functions(self) -> Iterator[ObjectSymbol]:
        """Yield the local functions."""
        for symbol in self.file.symbols():
            if symbol.local and symbol.defined and symbol.kind == SymbolKind.FUNCTION:
                yield symbol

    def _digested(self, section: ObjectSection) -> int:
        """Return the flags of a section that are part of the object's digest."""
        raise NotImplementedError

    @cached_property
    def weak_code_and_constants(self) -> tuple[NamedSymbol, ...]:
        """The code and constants that other objects may define too.

        Type information is excluded (`ElfObject` says why), and so are literals whose names contain their values: the
        linker may choose any level's copy of them.
        """
        mergeable = (s for s in self.symbols if s.section and s.binding in MERGEABLE)
        return tuple(s for s in mergeable if s.code or (s.constant and not self._is_shared(s.name)))

    def _is_shared(self, name: str) -> bool:
        """Return whether levels share the constant `name`."""
        raise NotImplementedError

    def _reader(self) -> ReadObject:
        return self.file

    @property
    def loaded_bytes(self) -> int:
        return sum(section.size for section in self.file.sections if section.in_file)

    def code(self) -> list[bytes]:
        return [self.file.content(section) for section in self.file.sections if section.executable]

    @property
    def runs_at_load(self) -> bool:
        return any(section.size and section.when_called for section in self.file.sections)

    @property
    def bounded_sections(self) -> frozenset[str]:
        """No sections: sealing ignores symbols such as ``__start_NAME`` in these formats."""
        return frozenset()

    def findable_sections(self) -> Mapping[str, PointerTargets]:
        """Return the targets of the pointers in each section that code finds by the section's name."""
        data: dict[str, list[tuple[int, int, int]]] = {}
        for section in self.file.sections:
            if section.findable and section.in_file and section.size:
                data.setdefault(section.name, []).append((section.index, section.address, section.size))
        return {name: self._initial_values.targets(places) for name, places in data.items()}

    def digest(self, prefixes: Sequence[str]) -> str:
        """Return a digest of the loaded sections, their relocations and the global symbols."""
        loaded = [section for section in self.file.sections if section.loaded]
        numbers = {section.index: number for number, section in enumerate(loaded)}
        digest = blake2b(digest_size=DIGEST_SIZE)
        for section in loaded:
            digest.update(struct.pack("<QQ", self._digested(section), section.size))
            digest.update(self.file.content(section))
        for content in sorted(self._global_symbols(prefixes, numbers)):
            digest.update(content)
        for section in loaded:
            for relocation in self.file.relocations[section.index]:
                place = relocation.address - section.address
                digest.update(struct.pack("<QQQq", numbers[section.index], place, relocation.kind, relocation.addend))
                digest.update(self._place(self.file.symbol(relocation.symbol), numbers))
        return digest.hexdigest()

    def _global_symbols(self, prefixes: Sequence[str], numbers: Mapping[int, int]) -> Iterator[bytes]:
        for symbol in self.symbols:
            index = next((index for index, prefix in enumerate(prefixes) if symbol.name.startswith(prefix)), -1)
            name = symbol.name.removeprefix(prefixes[index]) if index >= 0 else symbol.name
            place = self._place(self.file.symbol(symbol.number), numbers)
            yield name.encode(errors="surrogateescape") + b"\0" + struct.pack("<bB", index, symbol.binding) + place

    def _place(self, symbol: ObjectSymbol, numbers: Mapping[int, int]) -> bytes:
        """Return a symbol as bytes: its section's number and its offset there, or its name if it has no section."""
        if symbol.section in numbers:
            offset = symbol.address - self.file.sections[symbol.section].address
            return struct.pack("<Qq", numbers[symbol.section], offset)
        values = struct.pack("<QQ?", symbol.size, symbol.address, symbol.definition)
        return symbol.text.encode(errors="surrogateescape") + b"\0" + values
