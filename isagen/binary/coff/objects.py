"""A COFF object as sealing reads it: its symbols that are not local, and the initial values of its data."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from hashlib import blake2b

from ...model.errors import AuditError, BuildError
from ...model.files import AnyPath, read_bytes
from ..initial_values import InitialValues, Pointer
from ..protocol import MERGEABLE, Binding, SymbolKind
from ..sealing_protocol import NamedSymbol, PointerTargets
from . import names
from .entries import UNWINDING, CoffSection, CoffSymbol
from .layout import SCN_LNK_COMDAT
from .reader import UNREADABLE, Coff

DIGEST_SIZE = 8  # bytes, as in binary.elf.digest
LTO = ".gnu.lto_"
# Sections that compilers use for functions and constants, and for tables that describe functions.
CODE_AND_CONSTANTS = (".text", ".rdata", *UNWINDING)


class CoffObject:
    """A COFF object in memory (`isagen.binary.sealing_protocol.ObjectFile`).

    Raises `BuildError`, which names `path`, if `data` is not one.
    """

    format = Coff.format

    def __init__(self, data: bytes, path: AnyPath) -> None:
        self.path = path
        try:
            self.coff = Coff(path, data=data)
            if any(section.name.startswith(LTO) for section in self.coff.sections):
                raise self.coff.fail("it is an object for link-time optimisation")
        except AuditError as problem:
            raise BuildError(
                f"is not an object file that isagen can read: {problem.message.removeprefix(UNREADABLE)}",
                where=str(path),
                remedy="kernels must be compiled to COFF objects; is link-time optimisation switched on by hand?",
            ) from None
        self.symbols = tuple(map(self._named, (s for s in self.coff.symbols() if s.binding != Binding.LOCAL)))

    @classmethod
    def load(cls, path: AnyPath) -> CoffObject:
        """Read the object at `path`."""
        try:
            data = read_bytes(path)
        except OSError as problem:
            raise BuildError(f"cannot be read: {problem.strerror}", where=str(path)) from None
        return cls(data, path)

    def _named(self, symbol: CoffSymbol) -> NamedSymbol:
        section = self.coff.sections[symbol.section]
        return NamedSymbol(
            name=symbol.text,
            kind=symbol.kind,
            binding=symbol.binding,
            size=symbol.size,
            constant=symbol.defined and section.constant,
            hidden=False,
            defined=symbol.definition,
            section=symbol.section,
            number=symbol.number,
            address=symbol.address,
            code=symbol.defined and section.executable,
        )

    def local_functions(self) -> Iterator[CoffSymbol]:
        """Yield the local functions."""
        for symbol in self.coff.symbols():
            if symbol.binding == Binding.LOCAL and symbol.kind == SymbolKind.FUNCTION and symbol.defined:
                yield symbol

    @cached_property
    def weak_code_and_constants(self) -> tuple[NamedSymbol, ...]:
        """The code and constants that other objects may define too, without type information (see `ElfObject`).

        Literals are left out too: linkers may take any, as their names contain their values.
        """
        mergeable = (s for s in self.symbols if s.section and s.binding in MERGEABLE)
        own = (s for s in mergeable if not names.is_type(s.name) and not names.is_literal(s.name))
        return tuple(s for s in own if s.code or s.constant)

    @cached_property
    def _initial_values(self) -> InitialValues:
        return InitialValues(_Content(self.coff))

    def pointer_targets(self, symbol: NamedSymbol) -> PointerTargets:
        data = [(symbol.section, symbol.address, symbol.size)] if symbol.section else []
        return self._initial_values.targets(data)

    def initial_value(self, symbol: NamedSymbol) -> str:
        value = self._initial_values.text(symbol.section, symbol.address, symbol.size) if symbol.section else "0"
        return f"{value} ({symbol.size} bytes)"

    @property
    def loaded_bytes(self) -> int:
        return sum(section.size for section in self.coff.sections if section.in_file)

    def code(self) -> list[bytes]:
        return [self.coff.content(section) for section in self.coff.sections if section.executable]

    @property
    def runs_at_load(self) -> bool:
        return any(section.size and section.when_called for section in self.coff.sections)

    @property
    def bounded_sections(self) -> frozenset[str]:
        """No sections: linkers of this format define no symbols at the ends of sections."""
        return frozenset()

    @cached_property
    def initialised_variables(self) -> frozenset[str]:
        return frozenset(names.initialised_variables([symbol.name for symbol in self.symbols]))

    def findable_sections(self) -> Mapping[str, PointerTargets]:
        """Return the targets of the pointers in each section that code finds by name."""
        data: dict[str, list[tuple[int, int, int]]] = {}
        for section in self.coff.sections:
            if section.findable and section.in_file and section.size:
                data.setdefault(section.name, []).append((section.index, section.address, section.size))
        return {name: self._initial_values.targets(places) for name, places in data.items()}

    def digest(self, prefixes: Sequence[str]) -> str:
        """Return a digest of the loaded sections, their relocations and the global symbols."""
        loaded = [section for section in self.coff.sections if section.loaded]
        numbers = {section.index: number for number, section in enumerate(loaded)}
        digest = blake2b(digest_size=DIGEST_SIZE)
        for section in loaded:
            digest.update(struct.pack("<QQ", section.flags & ~SCN_LNK_COMDAT, section.size))
            digest.update(self.coff.content(section))
        for content in sorted(self._global_symbols(prefixes, numbers)):
            digest.update(content)
        for section in loaded:
            for relocation in self.coff.relocations[section.index]:
                place = relocation.address - section.address
                digest.update(struct.pack("<QQQq", numbers[section.index], place, relocation.kind, relocation.addend))
                digest.update(self._place(self.coff.symbol(relocation.symbol), numbers))
        return digest.hexdigest()

    def _global_symbols(self, prefixes: Sequence[str], numbers: Mapping[int, int]) -> Iterator[bytes]:
        for symbol in self.symbols:
            index = next((index for index, prefix in enumerate(prefixes) if symbol.name.startswith(prefix)), -1)
            name = symbol.name.removeprefix(prefixes[index]) if index >= 0 else symbol.name
            place = self._place(self.coff.symbol(symbol.number), numbers)
            yield name.encode(errors="surrogateescape") + b"\0" + struct.pack("<bB", index, symbol.binding) + place

    def _place(self, symbol: CoffSymbol, numbers: Mapping[int, int]) -> bytes:
        """Return the section's number and the offset of a symbol that the object defines; the name of another."""
        if symbol.section in numbers:
            offset = symbol.address - self.coff.sections[symbol.section].address
            return struct.pack("<QQ", numbers[symbol.section], offset)
        values = struct.pack("<QQ?", symbol.size, symbol.address, symbol.definition)
        return symbol.text.encode(errors="surrogateescape") + b"\0" + values

    def foldable_variables(self) -> frozenset[str] | None:
        """Return the variables of an object that may fold; None for an object that may not.

        A linker takes one of each such variable for all objects, because its section is merged.
        """
        names: dict[int, set[str]] = {}
        for symbol in self.symbols:
            if symbol.section:
                names.setdefault(symbol.section, set()).add(symbol.name)
            elif symbol.defined:
                return None
        variables: set[str] = set()
        for section in self.coff.sections:
            if section.loaded and section.size and not _is_code_or_constants(section):
                if section.constant or not section.merged or section.index not in names:
                    return None
                variables |= names[section.index]
        return frozenset(variables)


def _is_code_or_constants(section: CoffSection) -> bool:
    """Return whether compilers use the section's name for code or constants, and no program writes to it."""
    return section.constant and any(
        section.name == known or section.name.startswith((f"{known}.", f"{known}$")) for known in CODE_AND_CONSTANTS
    )


class _Content:
    """The content of an object (`isagen.binary.initial_values.Content`)."""

    word = 8

    def __init__(self, coff: Coff) -> None:
        self.sections, self.read, self.symbols, self.name = coff.sections, coff.read, coff.symbols, coff.name
        self._coff = coff

    def pointers_between(self, section: int, start: int, end: int) -> Iterator[Pointer]:
        for relocation in self._coff.relocations_between(section, start, end):
            yield relocation.address, self._coff.symbol(relocation.symbol), relocation.addend
