"""Entries of the tables of COFF objects and PE files, decoded: sections and symbols."""

from __future__ import annotations

from typing import NamedTuple

from ..contents import Section, SymbolKind
from . import layout as c

# Arrays of functions that the C run-time library calls, by the prefix of the section's name: MinGW's .ctors and .dtors,
# and Microsoft's .CRT$X, of which .CRT$XP and .CRT$XT are called at exit.
ARRAYS = {
    **dict.fromkeys((".dtors", ".CRT$XP", ".CRT$XT"), "at exit"),
    **dict.fromkeys((".ctors", ".CRT$X"), "when loaded"),
}
UNWINDING = (".pdata", ".xdata")
# Prefixes of the sections that compilers, assemblers and run-time libraries use without an attribute in the source.
COMMON_DATA = (
    *(".data", ".rdata", ".bss", ".tls", ".drectve", ".debug", ".idata", ".edata", ".eh_frame", ".gcc_except_table"),
    *(*ARRAYS, *UNWINDING, ".CRT", ".isagen", ".llvm", ".sxdata", ".gfids", ".giats", ".gljmp", ".00cfg", ".voltbl"),
    *(".gehcont", ".rtc", ".msvcjmc", ".fptable", ".retplne"),  # /guard:ehcont, /RTC, /JMC, Control Flow Guard
)


def section_of(index: int, name: str, place: tuple[int, int, int, int], flags: int, *relocations: int) -> Section:
    """Return a section; `place` is its address, file offset, size, and size in the file.

    `relocations` are the file offset and the number of the section's relocations, and are left out for linked files.

    Code may reach the data of a `findable` section without a symbol in the section: linkers place ``NAME$m`` between
    ``NAME$a`` and ``NAME$z``, so that code can walk from ``NAME$a`` to ``NAME$z``.
    """
    loaded = not flags & (c.SCN_LNK_INFO | c.SCN_LNK_REMOVE | c.SCN_MEM_DISCARDABLE)
    in_file = loaded and not flags & c.SCN_CNT_UNINITIALIZED_DATA
    executable, writable = bool(flags & c.SCN_MEM_EXECUTE), bool(flags & c.SCN_MEM_WRITE)
    return Section(
        index,
        name,
        *place,
        flags,
        loaded=loaded,
        in_file=in_file,
        executable=in_file and executable,
        writable=writable,
        constant=not writable,
        findable=loaded and not executable and not name.startswith(COMMON_DATA),
        unwinding=name.startswith(UNWINDING),
        merged=bool(flags & c.SCN_LNK_COMDAT),
        when_called=next((when for start, when in ARRAYS.items() if name.startswith(start)), ""),
        relocations_at=relocations[0] if relocations else 0,
        relocations_end=relocations[0] + relocations[1] * c.RELOCATION.size if relocations else 0,
    )


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


NULL = section_of(0, "", (0, 0, 0, 0), c.SCN_LNK_REMOVE)


def kind_of(entry: Entry, section: Section) -> SymbolKind:
    """Return the kind of an entry's symbol. `section` is the symbol's section, or NULL if it has none."""
    if entry.storage == c.CLASS_FILE or entry.section < -1:
        return SymbolKind.FILE
    if entry.kind == c.TYPE_FUNCTION:
        return SymbolKind.FUNCTION
    if entry.storage == c.CLASS_STATIC and not entry.value and entry.auxiliary and section.index:
        return SymbolKind.SECTION
    if not entry.section and entry.value and entry.storage == c.CLASS_EXTERNAL:
        return SymbolKind.COMMON
    return SymbolKind.LABEL if section.executable else SymbolKind.DATA
