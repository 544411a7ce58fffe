"""Entries of a COFF object's tables, decoded: sections and symbols."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from ..protocol import SymbolKind
from . import layout as c

# Arrays of functions that the C run-time library calls: MinGW's .ctors and .dtors, and Microsoft's .CRT$X.
ARRAYS = {".ctors": "when loaded", ".CRT$X": "when loaded", ".dtors": "at exit"}
UNWINDING = (".pdata", ".xdata")
# Prefixes of the sections that compilers, assemblers and run-time libraries use by themselves.
COMMON_DATA = (
    *(".data", ".rdata", ".bss", ".tls", ".drectve", ".debug", ".idata", ".edata", ".eh_frame", ".gcc_except_table"),
    *(*ARRAYS, *UNWINDING, ".CRT", ".isagen", ".llvm", ".sxdata", ".gfids", ".giats", ".gljmp", ".00cfg", ".voltbl"),
    *(".gehcont", ".rtc", ".msvcjmc", ".fptable", ".retplne"),  # /guard:ehcont, /RTC, /JMC, Control Flow Guard
)


@dataclass(frozen=True)
class CoffSection:
    """A section (`isagen.binary.object_reader.ObjectSection`). `index` counts from 1; the reader assigns `address`."""

    index: int
    name: str
    address: int
    offset: int
    size: int
    flags: int
    relocations_at: int
    relocation_count: int

    @property
    def loaded(self) -> bool:
        return not self.flags & (c.SCN_LNK_INFO | c.SCN_LNK_REMOVE | c.SCN_MEM_DISCARDABLE)

    @property
    def in_file(self) -> bool:
        return self.loaded and not self.flags & c.SCN_CNT_UNINITIALIZED_DATA

    @property
    def executable(self) -> bool:
        return self.in_file and bool(self.flags & c.SCN_MEM_EXECUTE)

    @property
    def writable(self) -> bool:
        return bool(self.flags & c.SCN_MEM_WRITE)

    @property
    def constant(self) -> bool:
        return not self.writable

    @property
    def findable(self) -> bool:
        """Whether code may find its data by its name: linkers sort ``NAME$a`` and ``NAME$z`` into one section."""
        return self.loaded and not self.flags & c.SCN_MEM_EXECUTE and not self.name.startswith(COMMON_DATA)

    @property
    def unwinding(self) -> bool:
        return self.name.startswith(UNWINDING)

    @property
    def merged(self) -> bool:
        """Whether it is a COMDAT section: linkers keep one of all those with the same symbol or name."""
        return bool(self.flags & c.SCN_LNK_COMDAT)

    @property
    def when_called(self) -> str:
        return next((when for name, when in ARRAYS.items() if self.name.startswith(name)), "")


class Entry(NamedTuple):
    """An entry of the symbol table, with its auxiliary records."""

    number: int
    name: str
    value: int
    section: int
    kind: int
    storage: int
    auxiliary: bytes

    @property
    def section_record(self) -> tuple[int, int]:
        """The size of the section without padding, and the rule by which linkers merge it with others (COMDAT).

        Both are 0 if this is not the symbol of a section.
        """
        if self.storage != c.CLASS_STATIC or self.value or len(self.auxiliary) < c.AUXILIARY_SECTION.size:
            return 0, 0
        size, _, _, _, _, selection = c.AUXILIARY_SECTION.unpack_from(self.auxiliary)
        return size, selection


NULL = CoffSection(0, "", 0, 0, 0, c.SCN_LNK_REMOVE, 0, 0)


def kind_of(entry: Entry, section: CoffSection) -> SymbolKind:
    """Return the kind of an entry's symbol. `section` is the symbol's section, with index 0 if it has none."""
    if entry.storage == c.CLASS_FILE or entry.section < -1:
        return SymbolKind.FILE
    if entry.kind == c.TYPE_FUNCTION:
        return SymbolKind.FUNCTION
    if entry.storage == c.CLASS_STATIC and not entry.value and entry.auxiliary and section.index:
        return SymbolKind.SECTION
    if not entry.section and entry.value and entry.storage == c.CLASS_EXTERNAL:
        return SymbolKind.COMMON
    return SymbolKind.LABEL if section.executable else SymbolKind.DATA
