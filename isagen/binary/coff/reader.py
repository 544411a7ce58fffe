"""Reads COFF objects: sections, symbols and relocations."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from ..contents import Binding, Relocation, Section, Symbol, SymbolKind
from ..reader import Binary
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
    *(".gehcont", ".rtc", ".msvcjmc", ".fptable", ".retplne"),  # of options such as /guard:ehcont, /RTC and /JMC
)


def section_of(index: int, name: str, place: tuple[int, int, int, int], flags: int, *relocations: int) -> Section:
    """Return a section; `place` is its address, file offset, size, and size in the file.

    For an object, `relocations` are the file offset and the number of the section's relocations. Code may reach the
    data of a `findable` section without a symbol in the section: linkers place ``NAME$m`` between ``NAME$a`` and
    ``NAME$z``, so that code can walk from ``NAME$a`` to ``NAME$z``.
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
        noted=name == ".isagen",
        merged=bool(flags & c.SCN_LNK_COMDAT),
        when_called=next((when for start, when in ARRAYS.items() if name.startswith(start)), ""),
        relocations_at=relocations[0] if relocations else 0,
        relocations_end=relocations[0] + relocations[1] * c.RELOCATION.size if relocations else 0,
    )


class Entry(NamedTuple):
    """An entry of the symbol table, with its auxiliary records. `kind` is its type, and `storage` its storage class.

    `section` is 0 for undefined, weak and common symbols, and negative for absolute and debugging symbols.
    """

    number: int
    name: str
    value: int
    section: int
    kind: int
    storage: int
    auxiliary: bytes

    @property
    def section_record(self) -> tuple[int, int]:
        """The size of the section without padding, and the rule by which linkers merge COMDAT sections (SELECT_...).

        Both are 0 if the entry is not the symbol of a section. The rule is 0 if the section is not COMDAT.
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


class Coff(Binary):
    """A COFF object."""

    format = "coff"
    unreadable = "is not a COFF object that can be read: "
    code_and_constants = (".text", ".rdata", *UNWINDING)
    comdat_flag = c.SCN_LNK_COMDAT
    starts = staticmethod(c.is_object)
    architecture_of = staticmethod(c.architecture_of)
    sections: tuple[Section, ...]

    def _read(self) -> None:
        self.big = self.data[:4] == c.BIG_START
        if self.big:
            *_, count, self.symbols_at, self.symbol_count = c.BIG_HEADER.unpack_from(self.data)
            self.headers_at, self.entry = c.BIG_HEADER.size, c.BIG_SYMBOL
        else:
            _, count, _, self.symbols_at, self.symbol_count, _, _ = c.HEADER.unpack_from(self.data)
            self.headers_at, self.entry = c.HEADER.size, c.SYMBOL
        if not self.symbols_at:
            raise self.fail("it has no table of symbols")
        self.strings_at = self.symbols_at + self.symbol_count * self.entry.size
        if self.strings_at > len(self.data) or self.headers_at + count * c.SECTION.size > len(self.data):
            raise self.fail("it is cut off")
        size = int.from_bytes(self.data[self.strings_at : self.strings_at + 4], "little")
        self.strings_end = self.strings_at + max(size, 4)
        if self.strings_at < len(self.data) < self.strings_end:
            raise self.fail("its table of names is cut off")
        self.sections = (NULL, *self._sections(count))
        self.require_apart((0, self.headers_at + count * c.SECTION.size), (self.symbols_at, self.strings_end))
        self._symbols = {symbol.number: symbol for symbol in self._decoded()}

    def _sections(self, count: int) -> Iterator[Section]:
        free = 0x1000
        for index in range(1, count + 1):
            place = self.headers_at + (index - 1) * c.SECTION.size
            raw, _, _, size, offset, relocations, _, number, _, flags = c.SECTION.unpack_from(self.data, place)
            text = raw.partition(b"\0")[0].decode(errors="surrogateescape")
            name = self._string(int(text[1:])) if text[:1] == "/" and text[1:].isdecimal() else text
            if not flags & c.SCN_CNT_UNINITIALIZED_DATA and size and offset + size > len(self.data):
                raise self.fail(f"section {name} is cut off")
            if flags & c.SCN_LNK_NRELOC_OVFL and number == 0xFFFF:  # the first relocation contains the count plus 1
                number = c.RELOCATION.unpack_from(self.data, relocations)[0] - 1
                relocations += c.RELOCATION.size
            if number < 0 or relocations + number * c.RELOCATION.size > len(self.data):
                raise self.fail(f"the relocations of section {name} are cut off")
            alignment = 1 << max((flags & c.SCN_ALIGN_MASK) // 0x100000 - 1, 0)
            address = -(-free // alignment) * alignment
            free = address + size
            stored = 0 if flags & c.SCN_CNT_UNINITIALIZED_DATA else size
            yield section_of(index, name, (address, offset, size, stored), flags, relocations, number)

    def _string(self, offset: int) -> str:
        start = self.strings_at + offset
        end = self.data.find(b"\0", start, self.strings_end)
        if offset < 4 or end < 0:
            raise self.fail("a name is not in the table of names")
        return self.counted(self.data[start:end].decode(errors="surrogateescape"))

    def _entries(self) -> Iterator[Entry]:
        number = 0
        while number < self.symbol_count:
            place = self.symbols_at + number * self.entry.size
            name, value, section, kind, storage, extra = self.entry.unpack_from(self.data, place)
            if section >= len(self.sections):
                raise self.fail(f"symbol {number} is in a section that is not there")
            text = name.partition(b"\0")[0].decode(errors="surrogateescape")
            text = text if name[:4] != bytes(4) else self._string(int.from_bytes(name[4:], "little"))
            auxiliary = self.data[place + self.entry.size : place + (1 + extra) * self.entry.size]
            yield Entry(number, text, value, section, kind, storage, auxiliary)
            number += 1 + extra

    def _decoded(self) -> Iterator[Symbol]:
        entries = {entry.number: entry for entry in self._entries()}
        records = {entry.section: entry.section_record for entry in entries.values() if any(entry.section_record)}
        alone = c.SELECT_NODUPLICATES, c.SELECT_ASSOCIATIVE  # by these rules, linkers merge no sections of one name
        # The COMDAT sections that linkers merge although they have no external symbol.
        self.unnamed = frozenset(
            section.index
            for section in self.sections
            if section.merged and records.get(section.index, (0, 0))[1] not in alone
        ).difference(entry.section for entry in entries.values() if entry.storage == c.CLASS_EXTERNAL)
        starts: dict[int, set[int]] = {}
        for entry in entries.values():
            if entry.section > 0 and entry.value > self.sections[entry.section].size:
                raise self.fail(f"symbol {entry.name} is outside of its section")
            if entry.section > 0 and entry.storage in (c.CLASS_EXTERNAL, c.CLASS_STATIC):
                starts.setdefault(entry.section, set()).add(entry.value)
        following = {
            (section, start): end
            for section, values in starts.items()
            for start, end in pairwise(
                [*sorted(values), records.get(section, (0, 0))[0] or self.sections[section].size]
            )
        }
        for entry in entries.values():
            defining = entry  # the entry with the symbol's section and value: a weak symbol has those of its default
            if entry.storage == c.CLASS_WEAK:
                stands_for = c.AUXILIARY_WEAK.unpack_from(entry.auxiliary)[0]
                if stands_for not in entries:
                    raise self.fail(f"the weak symbol {entry.name} stands for one that is not there")
                defining = entries[stands_for]
            # A weak symbol whose default is in no section, such as an absolute zero, is undefined.
            index = defining.section if defining.section > 0 or defining is entry else 0
            section = self.sections[max(index, 0)]
            binding = Binding.LOCAL
            if entry.storage == c.CLASS_WEAK:
                binding = Binding.WEAK
            elif entry.storage == c.CLASS_EXTERNAL:
                unique = records.get(index, (0, 0))[1] == c.SELECT_NODUPLICATES
                binding = Binding.WEAK if section.merged and not unique else Binding.GLOBAL
            kind = kind_of(entry, section)
            address = defining.value + section.address if index in (section.index, c.ABSOLUTE) and index else 0
            size = following.get((index, defining.value), defining.value) - defining.value
            size = entry.value if kind == SymbolKind.COMMON else max(size, 0) if index > 0 else 0
            definition = index != 0 or kind == SymbolKind.COMMON
            yield Symbol(entry.number, entry.name, kind, binding, section.index, address, size, definition)

    def _relocations_of(self, section: Section) -> Iterator[Relocation]:
        raw = self.data[section.relocations_at : section.relocations_end]
        content = self.content(section)
        for offset, number, kind in c.RELOCATION.iter_unpack(raw):
            width = 8 if kind == c.ADDR64[self.machine] else 4
            addend = int.from_bytes(content[offset : offset + width], "little", signed=True)
            yield Relocation(section.address + offset, kind, number, addend - c.REL32[self.machine].get(kind, 0))
