"""The contents of binary files in any format: sections, symbols, relocations, and the targets of pointers.

An address in a linked file is the one that the linker assigned. In an object of ELF or COFF, sections have no
addresses, so the reader assigns some.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Literal, NamedTuple


class SymbolKind(IntEnum):
    """The kind of entity that a symbol names. The numbers are ELF's, except that of OTHER."""

    LABEL = 0  # no type, such as a label in assembly
    DATA = 1
    FUNCTION = 2
    SECTION = 3
    FILE = 4
    COMMON = 5
    THREAD_DATA = 6
    RESOLVER = 10  # a function that returns the address of another function to the loader (ifunc)
    OTHER = 99


class Binding(IntEnum):
    """The rule by which a linker or loader chooses among symbols of the same name. Numbers as in `SymbolKind`."""

    LOCAL = 0
    GLOBAL = 1
    WEAK = 2
    UNIQUE = 10  # one definition for all libraries of a process
    OTHER = 99


CODE_KINDS = frozenset({SymbolKind.FUNCTION, SymbolKind.RESOLVER})
DATA_KINDS = frozenset({SymbolKind.DATA, SymbolKind.THREAD_DATA})
MERGEABLE = frozenset({Binding.WEAK, Binding.UNIQUE})


class Section(NamedTuple):
    """A section: `size` bytes at `address`, of which the file contains the first `stored` at `offset`.

    `flags` are the format's. `loaded` sections are mapped into the memory of a process: `in_file` sections with bytes
    of the file, others as zeros. `executable` sections contain code that is loaded. The loader or the program may write
    to `writable` sections. The program never writes to `constant` ones, but the loader may, to relocate them. The name
    of a `findable` section may come from a source, and code may find the section's data by this name. `unwinding`
    sections describe functions for unwinding the stack. `noted` sections contain notes. Of the `merged` sections
    (COMDAT) with the same symbol or name, linkers may retain only one.

    If a section contains addresses of functions that the loader or the C library calls, `when_called` says when, such
    as "at exit". It is "" for other sections. `type`, `link`, `info` and `alignment` are fields of ELF's headers, and 0
    in other formats. The relocations of a section of a COFF or Mach-O object are in the file from `relocations_at` to
    before `relocations_end`.
    """

    index: int  # type: ignore[assignment]  # hides tuple.index, which nothing calls
    name: str
    address: int
    offset: int
    size: int
    stored: int
    flags: int
    loaded: bool = False
    in_file: bool = False
    executable: bool = False
    writable: bool = False
    constant: bool = False
    findable: bool = False
    unwinding: bool = False
    noted: bool = False
    merged: bool = False
    when_called: str = ""
    type: int = 0
    link: int = 0
    info: int = 0
    alignment: int = 0
    relocations_at: int = 0
    relocations_end: int = 0


class Symbol(NamedTuple):
    """A symbol. `number` is its index in the symbol table, or a higher number if it is not in the table.

    `section` is the index of the symbol's section; 0 if the symbol is undefined, absolute or common. `definition` is
    false only for an undefined symbol, whose `address` in an object is 0. Other programs and libraries cannot refer to
    a `hidden` symbol. A hidden symbol of ELF or Mach-O stays hidden when the linker makes it local. In objects of COFF
    and Mach-O, the `size` of code or data is the distance to the next symbol or to the section's end, including padding
    between symbols.
    """

    number: int
    name: str
    kind: SymbolKind
    binding: Binding
    section: int
    address: int
    size: int
    definition: bool
    hidden: bool = False

    @property
    def defined(self) -> bool:
        """Whether it is defined in a section of this file."""
        return self.section != 0

    @property
    def visible(self) -> bool:
        """Whether other programs and libraries can refer to it."""
        return self.binding != Binding.LOCAL and not self.hidden

    @property
    def local(self) -> bool:
        """Whether it was local in the object that the compiler wrote, so that no other object could refer to it."""
        return self.binding == Binding.LOCAL and not self.hidden


UNDEFINED = Symbol(0, "", SymbolKind.LABEL, Binding.LOCAL, 0, 0, 0, False)


@dataclass(frozen=True)
class RelocationTypes:
    """The relocation types of one processor in one format, by the value that they write.

    In objects, `absolute` types write the address symbol + addend, a part of this address, or a part of the distance to
    it. `relative` types write the distance from the relocated place to symbol + addend; in an instruction, the
    processor adds this distance to the address after the instruction. Absolute and relative types that are also in
    `through_slot` refer to a pointer to the symbol, and not to the symbol itself. Relocations of `of_loader` types mark
    calls of functions in the loader. Relocations of `parts` types are ignored: they mark places, or write a further
    part of a value that another relocation starts. The addend of some absolute types counts from the start of the
    instruction; `after_start` maps each of these types to the number of bytes from this start to the relocated place.

    In linked files, `slot` types write the address of a symbol, the type `rebased` an address in the same file, and the
    type `resolved` the result of a resolver; -1 stands for no type.
    """

    absolute: frozenset[int]
    relative: frozenset[int]
    through_slot: frozenset[int] = frozenset()
    slot: frozenset[int] = frozenset()
    rebased: int = -1
    resolved: int = -1
    of_loader: frozenset[int] = frozenset()
    parts: frozenset[int] = frozenset()
    after_start: Mapping[int, int] = field(default_factory=dict)


class Relocation(NamedTuple):
    """A relocation of the place at `address`. `kind` is its type, and `symbol` the number of its symbol."""

    address: int
    kind: int
    symbol: int
    addend: int


class Target(NamedTuple):
    """The target of a pointer. `address` is 0 if the target is not in this file or not known.

    `name` is "" unless the loader looks the target up, by name or number. If `resolved` is set, the loader writes the
    result of a resolver to the pointer. If `null` is set, the pointer is NULL in the process, as for a weak symbol that
    no file defines.
    """

    address: int = 0
    name: str = ""
    resolved: bool = False
    null: bool = False


def within(spans: Sequence[tuple[int, int]], address: int) -> bool:
    """Return whether an address is in one of the sorted `spans`: (first address, address after the last) of each."""
    index = bisect_right(spans, (address, 1 << 64)) - 1
    return index >= 0 and address < spans[index][1]


@dataclass(frozen=True)
class Architecture:
    """The processor of a binary's code. `machine` is its number in `format`, `shown` its name in messages.

    `format` is the name of the format's folder, but "pe" for a linked file of Windows.
    """

    format: str
    machine: int
    bits: int
    order: Literal["little", "big"]
    shown: str
