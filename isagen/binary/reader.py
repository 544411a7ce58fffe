"""The base classes of readers: a binary file in any format, and the pointers in it; and functions that read tables."""

from __future__ import annotations

import struct
import sys
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import pairwise
from mmap import mmap
from operator import attrgetter
from pathlib import Path
from typing import Any, Generic, Literal, Self, TypeVar, cast

from ..model.errors import AuditError
from ..model.files import AnyPath, mapped
from ..model.record import RECORD_OWNER, Record, record_from_json
from .contents import UNDEFINED, Architecture, Relocation, RelocationTypes, Section, Symbol, SymbolKind, Target
from .notes import notes_of

END = 1 << 62  # files with higher addresses are rejected: a process of x86-64 has at most 2**56 bytes of addresses
HEAD = 1024  # bytes at the start of a file that show its format and architecture: in PE, these follow a program for DOS
ADDRESS = attrgetter("address")
# A file or table is rejected if its names together have more bytes than NAMES times its size plus MORE_NAMES.
NAMES, MORE_NAMES = 64, 1 << 16


def entries_of(form: struct.Struct, raw: bytes) -> Iterator[tuple[Any, ...]]:
    """Yield the values of each entry of a table, without what follows the last whole entry."""
    return form.iter_unpack(raw[: len(raw) // form.size * form.size])


def numbers_of(kind: str, raw: bytes, byteorder: str) -> array[int]:
    """Return a table's entries as whole numbers; `kind` is the type code of `array.array`, such as "I"."""
    numbers = array(kind)
    numbers.frombytes(raw[: len(raw) // numbers.itemsize * numbers.itemsize])
    if byteorder != sys.byteorder:
        numbers.byteswap()
    return numbers


class Binary:
    """A binary file, on disk or, with `data`, in memory. Raises `AuditError` if it cannot be read or is damaged.

    Messages name the file `shown`. `machine` is the format's number for the processor. If the file names no processor,
    `machine` is 0 and `architecture` is None. A `relocatable` file is an object, and `fixed` files are loaded at the
    addresses in the file. A `stripped` file has only the symbols that bind it to other files. If `names_tell_levels` is
    set, only the names of functions show to which level code belongs, so that the levels in a stripped file are
    unknown. If `debug_only` is set, the file describes code that is in another file. `levels` are the sealed levels
    whose code the file contains; for objects of COFF and Mach-O, they are empty. The first item of `sections` stands
    for "no section". `word` is the number of bytes of a pointer.

    `code_and_constants` are the names of sections that compilers use for functions, for constants, and for tables that
    describe functions. A linker script or a program may find any other section of an object by name. If the tuple is
    empty, the names of all constant sections that are not `findable` count as such names. The bit `comdat_flag` of a
    section's `flags` marks sections of COMDAT groups (ELF) and COMDAT sections (COFF).
    """

    format: str
    unreadable: str  # the start of the error for a damaged file
    starts: Callable[[bytes], bool]  # whether a file with these first bytes is of the kind that the class reads
    architecture_of: Callable[[bytes], Architecture | None]  # from a file's first bytes; None if they name no processor
    sections: Sequence[Section]
    relocatable, fixed, stripped, names_tell_levels, debug_only = True, False, False, False, False
    levels: frozenset[str] = frozenset()
    code_and_constants: tuple[str, ...] = ()
    comdat_flag = 0
    word = 8
    byteorder: Literal["little", "big"] = "little"

    def __init__(self, path: AnyPath, shown: str = "", data: bytes | None = None) -> None:
        self.path = Path(path)
        self.shown = shown or str(path)
        self._symbols: dict[int, Symbol] = {}
        self._sorted_relocations: dict[int, list[Relocation]] = {}
        try:
            # A mapping has the operations of bytes that are used here, hence the cast.
            self.data = data if data is not None else cast(bytes, mapped(path))
            head = self.data[:HEAD]
            if not self.starts(head):
                raise self.fail("it does not start as one")
            self.architecture = self.architecture_of(head)
            self.machine = self.architecture.machine if self.architecture else 0
            self._names_left = NAMES * len(self.data) + MORE_NAMES
            self._read()
        except OSError as problem:
            raise AuditError(f"cannot be read: {problem.strerror}", where=self.shown) from None
        except (struct.error, IndexError, OverflowError, ValueError) as problem:
            raise self.fail(f"it is damaged: {problem}") from None

    def _read(self) -> None:
        raise NotImplementedError

    def fail(self, problem: str, remedy: str = "") -> AuditError:
        """Return the error for a file that cannot be read or sealed as one of this format; `problem` is the reason."""
        return AuditError(self.unreadable + problem, where=self.shown, remedy=remedy)

    def counted(self, name: str) -> str:
        """Return `name`. Raises `AuditError` if the names passed to this function so far are together too long.

        Many entries of a small file may refer to one long name.
        """
        self._names_left -= len(name)
        if self._names_left < 0:
            raise self.fail("its names are too long")
        return name

    def require_apart(self, *parts: tuple[int, int]) -> None:
        """Raise `AuditError` if any of these overlap: `parts`, each (offset, end); the sections; the relocations.

        Sealing writes into headers and symbol tables, and must not change code or data. Without overlaps, all sections
        together are no larger than the file, so a small file is read quickly.
        """
        of_sections = [(section.offset, section.offset + section.stored) for section in self.sections]
        relocations = [(section.relocations_at, section.relocations_end) for section in self.sections]
        filled = sorted((start, end) for start, end in (*parts, *of_sections, *relocations) if start < end)
        if any(start < end for (_, end), (start, _) in pairwise(filled)):
            raise self.fail("parts of it overlap")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *details: object) -> None:
        if isinstance(self.data, mmap):
            self.data.close()

    # ---- sections and bytes

    def _has_addresses(self, section: Section) -> bool:
        """Return whether the addresses in a section's header are its own and no other section's."""
        return section.loaded and section.size > 0

    @cached_property
    def _by_address(self) -> tuple[list[int], list[Section]]:
        sections = sorted(filter(self._has_addresses, self.sections), key=ADDRESS)
        return [section.address for section in sections], sections

    def section_at(self, address: int) -> Section | None:
        """Return the section that is loaded at `address`; None if there is none."""
        starts, sections = self._by_address
        index = bisect_right(starts, address) - 1
        section = sections[index] if index >= 0 else None
        return section if section is not None and address < section.address + section.size else None

    def is_code(self, address: int) -> bool:
        """Return whether code is at an address."""
        section = self.section_at(address)
        return section is not None and section.executable

    def content(self, section: Section) -> bytes:
        """Return a section's bytes; none if it has no content in the file."""
        return self.data[section.offset : section.offset + section.stored]

    def read(self, address: int, size: int) -> bytes:
        """Return `size` bytes at an address, or only those that the section there has in the file."""
        section = self.section_at(address)
        if section is None:
            return b""
        skipped = address - section.address
        return self.data[section.offset + skipped : section.offset + min(section.stored, skipped + max(size, 0))]

    def word_at(self, address: int, signed: bool = False) -> int:
        """Return the number in the word at an address; 0 if the file does not contain the whole word."""
        raw = self.read(address, self.word)
        return int.from_bytes(raw, self.byteorder, signed=signed) if len(raw) == self.word else 0

    def level_at(self, address: int) -> str:
        """Return the sealed level whose code is at an address; "" if there is none."""
        return ""  # the answer for objects of COFF and Mach-O: sealed ones are not audited

    # ---- symbols and relocations

    def symbols(self) -> Iterator[Symbol]:
        """Yield the symbols of the file; those for debuggers may be missing."""
        yield from self._symbols.values()

    def exports(self) -> Iterator[Symbol]:
        """Yield all symbols of an object; of a linked file, the symbols that other files can bind to.

        For a linked file, ELF's reader yields undefined symbols too, and Mach-O's reader yields all symbols.
        """
        return self.symbols()

    def symbol(self, number: int) -> Symbol:
        """Return the symbol with this number in `symbols`; an undefined symbol if there is none."""
        return self._symbols.get(number, UNDEFINED)

    def _relocations_of(self, section: Section) -> Iterable[Relocation]:
        """Return the relocations of an object's section, with addends as in ELF (`RelocationTypes`)."""
        raise NotImplementedError

    def relocations(self, section: Section, start: int = 0, end: int = 1 << 64) -> Sequence[Relocation]:
        """Return the relocations of an object's section from the address `start` to before `end`, in order."""
        if section.index not in self._sorted_relocations:
            self._sorted_relocations[section.index] = sorted(self._relocations_of(section), key=ADDRESS)
        found = self._sorted_relocations[section.index]
        return found[bisect_left(found, start, key=ADDRESS) : bisect_left(found, end, key=ADDRESS)]

    # ---- notes, and what some formats have

    def notes(self, owner: str) -> list[bytes]:
        """Return the texts of the notes of `owner`."""
        contents = (self.content(section) for section in self.sections if section.noted)
        return [text for content in contents for text in notes_of(content, owner, self.byteorder)]

    def records(self) -> list[Record]:
        """Return the records in the file. A linked file may have one for each set of kernels in it."""
        return [record_from_json(text, self.shown) for text in self.notes(RECORD_OWNER)]

    def unwind_table_functions(self) -> Iterator[tuple[int, int]]:
        """Yield (address, size in bytes) of each function of a linked file in its tables for unwinding the stack.

        The functions of a Mach-O file are those in its list of functions. For objects, nothing is yielded.
        """
        yield from ()

    def pointers(self, kinds: RelocationTypes) -> Pointers[Any]:
        """Return the pointers of the file; `kinds` are the relocation types of its processor."""
        return Pointers(self, kinds)


FileT = TypeVar("FileT", bound=Binary)


class Pointers(Generic[FileT]):
    """The pointers of a binary: in its data, in tables of the linker, and in arrays that the loader reads.

    A slot is a pointer in such a table or array; code is called through it. This class reads the pointers of objects,
    and a subclass for each format those of linked files.
    """

    def __init__(self, file: FileT, kinds: RelocationTypes) -> None:
        self._file = file
        self._kinds = kinds

    @property
    def slot_ranges(self) -> Sequence[tuple[int, int]]:
        """(First address, address after the last) of each table and array of pointers, in order."""
        return ()

    @property
    def plt_ranges(self) -> Sequence[tuple[int, int]]:
        """(First address, address after the last) of each table of jumps through slots, in order."""
        return ()

    @property
    def resolvers(self) -> Sequence[int]:
        """The addresses of resolvers, which the loader calls."""
        return ()

    def follow(self, slot: int) -> Target:
        """Return the target of the pointer at the address `slot`; an empty target if no known pointer is there."""
        return Target()

    def called_by_loader(self) -> Iterator[tuple[int, str]]:
        """Yield (address, when) of each function that the loader or the C library calls; `when` is such as "at exit".

        The address is 0 for a function that an object does not define.
        """
        for section in self._file.sections:
            for relocation in self.relocations(section) if section.when_called else ():
                yield self.target(relocation), section.when_called

    def in_data(self) -> Iterator[tuple[int, int]]:
        """Yield the pointers in data to addresses of this file: (address of the pointer, address of its target)."""
        for section in self._file.sections:
            if section.in_file and not section.executable and not section.unwinding:
                for relocation in self.relocations(section):
                    if relocation.kind in self._kinds.absolute and (target := self.target(relocation)):
                        yield relocation.address, target

    def _words_that_are_addresses(self, sections: Iterable[Section], low: int) -> Iterator[tuple[int, int]]:
        """Yield (address, value) of words that may be pointers. A 64-bit file at fixed addresses does not list them."""
        file = self._file
        high = max((section.address + section.size for section in file.sections), default=0)
        for section in sections:
            skipped = -section.address % 8
            content = file.content(section)[skipped:]
            for number, value in enumerate(numbers_of("Q", content, file.byteorder)):
                if low <= value < high and file.section_at(value) is not None:
                    yield section.address + skipped + 8 * number, value

    def relocations(self, section: Section, start: int = 0, end: int = 1 << 64) -> Sequence[Relocation]:
        """Return the relocations that `Binary.relocations` returns, without those of `parts` types."""
        found = self._file.relocations(section, start, end)
        return [relocation for relocation in found if relocation.kind not in self._kinds.parts]

    def target(self, relocation: Relocation, after: int = 0) -> int:
        """Return the address to which a relocation refers; 0 if the object does not define the relocation's symbol.

        `after` is the address after the relocated instruction; 0 for data.
        """
        symbol = self._file.symbol(relocation.symbol)
        if not symbol.defined:
            return 0
        if relocation.kind in self._kinds.relative:
            return symbol.address + relocation.addend + (after - relocation.address if after else 0)
        if relocation.kind in self._kinds.absolute:
            return symbol.address + relocation.addend - self._kinds.after_start.get(relocation.kind, 0)
        # The addend of another type, such as a distance from the GOT, does not always count from the symbol. So it is
        # added only to the symbol of a section.
        return symbol.address + (relocation.addend if symbol.kind is SymbolKind.SECTION else 0)

    def operand(self, relocation: Relocation, after: int) -> int:
        """Return the `target` of an instruction's relocation if this address is in the relocation symbol's section.

        Otherwise return the symbol's address: only the link decides what is next to a section.
        """
        target = self.target(relocation, after)
        symbol = self._file.symbol(relocation.symbol)
        section = self._file.section_at(target) if target else None
        return target if section is not None and section.index == symbol.section else symbol.address

    def target_name(self, relocation: Relocation) -> str:
        """Return the name of the symbol of a relocation."""
        return self._file.symbol(relocation.symbol).name
