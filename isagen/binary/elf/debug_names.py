"""The level in an object's debug information: in the names by which debuggers show functions.

Linkage names become those that the symbols have. Functions without one, which are C's and GCC's local ones, get an ABI
tag: `axpy[abi:AVX2]`. The new names go to the end of .debug_str, and relocations refer to them: so no entry changes its
size. Debug information of other kinds than are read here stays as it is.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile

from ..protocol import Kind
from . import dwarf as d
from . import layout as e
from .addends import Addends
from .inline_names import Referring, encoded, inline_text
from .objects import ElfObject
from .renaming import Renaming
from .values import ElfSection

ENTRIES, TYPES, STRINGS, OFFSETS, TABLES = (
    ".debug_info",
    ".debug_types",
    ".debug_str",
    ".debug_str_offsets",
    ".debug_abbrev",
)
# gABI, "Section Compression": the type of a compressed section, and the size of the header before its data.
COMPRESSED_WITH_ZLIB, COMPRESSION_HEADER = 1, 24
MACHINES = frozenset({62, 183})  # x86-64, AArch64: others may have relocations of other kinds
UNREAD = (d.UnreadError, struct.error, zlib.error, IndexError, KeyError, ValueError, OverflowError)


def show_level(file: ElfObject, changes: Renaming, renamed: Mapping[str, str], level: str) -> None:
    """Show the level in the debug information of an object whose symbols are `renamed`."""
    if file.elf.machine not in MACHINES or not any(section.name == STRINGS for section in file.sections):
        return
    try:
        names = _DebugNames(file, level)
        names.follow(renamed)
        names.tag()
        changed = list(names.changed())
    except UNREAD:
        return
    for index, content in changed:
        changes.replace_section(index, content)


@dataclass
class Strings:
    """The content of .debug_str, with more at its end."""

    text: bytes
    _added: bytearray = field(default_factory=bytearray)
    _places: dict[bytes, int] = field(default_factory=dict)

    def at(self, place: int) -> bytes:
        """Return the string at a place of the section."""
        return self.text[place : self.text.index(0, place)]

    def place(self, name: bytes) -> int:
        """Return where a new string stands."""
        if name not in self._places:
            self._places[name] = len(self.text) + len(self._added)
            self._added += name + b"\0"
        return self._places[name]

    def moved(self, names: Mapping[bytes, bytes]) -> dict[int, int]:
        """Return where the strings of other names stand, by the place of the string."""
        found, place = {}, 0
        for text in self.text.split(b"\0"):
            if text in names:
                found[place] = self.place(names[text])
            place += len(text) + 1
        return found

    @property
    def content(self) -> bytes:
        """The content with what was added."""
        return self.text + bytes(self._added)


class _DebugNames:
    """The changes to the names in one object."""

    def __init__(self, file: ElfObject, level: str) -> None:
        self._file = file
        self._order = file.elf.layout.byteorder
        self._tag = f"[abi:{level}]".encode()
        self._sections = {s.name: s for s in file.sections if s.name in (STRINGS, OFFSETS, TABLES)}
        self._targets = _section_symbols(file)
        self._relocations = {s.info: s for s in file.sections if s.type == e.SHT_RELA}
        self._addends: dict[int, Addends] = {}
        self._contents: dict[int, bytes] = {}
        self._strings = Strings(self._content(self._sections[STRINGS]))
        self._symbols = self._targets.get(self._sections[STRINGS].index, frozenset())

    def follow(self, renamed: Mapping[str, str]) -> None:
        """Let linkage names be those that the symbols have."""
        mangled = {_encoded(old): _encoded(new) for old, new in renamed.items() if old.startswith("_Z")}
        moved = self._strings.moved(mangled)
        for section in self._file.sections if moved else ():
            if section.name in (ENTRIES, TYPES, OFFSETS):
                self._addends_of(section).replace(moved, self._symbols)

    def tag(self) -> None:
        """Tag the names of functions that have no linkage name."""
        if TABLES not in self._sections:
            return
        tables = self._content(self._sections[TABLES])
        more = bytearray()
        for section in self._file.sections:
            if section.name == ENTRIES:
                data = self._content(section)
                changed = bytearray(data)
                for unit in d.units(data, self._order):
                    if unit.compiled:
                        self._tag_unit(section, data, changed, unit, tables, more)
                if changed != data:
                    self._contents[section.index] = bytes(changed)
        if more:
            self._contents[self._sections[TABLES].index] = tables + bytes(more)

    def changed(self) -> Iterator[tuple[int, bytes]]:
        """Yield the sections that change, with their content."""
        yield from self._contents.items()
        yield self._sections[STRINGS].index, self._strings.content
        for index, addends in self._addends.items():
            if addends.changed:
                yield self._relocations[index].index, addends.content

    def _tag_unit(
        self, section: ElfSection, data: bytes, changed: bytearray, unit: d.Unit, tables: bytes, more: bytearray
    ) -> None:
        addends = self._addends_of(section)
        start = addends.target(unit.table, self._targets.get(self._sections[TABLES].index, frozenset()))
        if start is None:
            return
        table, end = d.abbreviations(tables, start)
        entries = d.Entries(data, unit, table, self._order)
        names = entries.function_names()
        for name in names:
            if name.form == d.DW_FORM_STRP and (text := addends.target(name.place, self._symbols)) is not None:
                addends.set(name.place, self._tagged(text))
        self._tag_numbered(section, changed, entries, [name for name in names if name.form in d.INDEXES])
        referring = Referring(table)
        for name in names:
            if name.form == d.DW_FORM_STRING:
                self._tag_inline(addends, changed, name, unit.offset_size, referring)
        if added := referring.content:
            addends.set(unit.table, len(tables) + len(more))
            more += tables[start:end] + added

    def _tag_numbered(
        self, section: ElfSection, changed: bytearray, entries: d.Entries, names: Sequence[d.Name]
    ) -> None:
        """Tag names that are strings of a number. Where other things are called so too, they get one of their own."""
        base = entries.root().get(d.DW_AT_STR_OFFSETS_BASE) if names else None
        if base is None or OFFSETS not in self._sections:
            return
        offsets = self._sections[OFFSETS]
        start = self._addends_of(section).target(base, self._targets.get(offsets.index, frozenset()))
        if start is None:
            return
        uses = entries.string_uses()
        own: dict[int, list[d.Name]] = {}
        for name in names:
            own.setdefault(entries.index(name.place, name.form), []).append(name)
        for number, called in own.items():
            place = start + number * entries.unit.offset_size
            text = self._addends_of(offsets).target(place, self._symbols)
            if text is None:
                continue
            if uses[number] == len(called):
                self._addends_of(offsets).set(place, self._tagged(text))
                continue
            width = min(d.INDEXES[name.form] for name in called)
            if new := self._new_number(offsets, start, entries.unit.offset_size, text, 1 << 8 * width):
                for name in called:
                    size = d.INDEXES[name.form]
                    changed[name.place : name.place + size] = new.to_bytes(size, self._order)

    def _new_number(self, offsets: ElfSection, start: int, size: int, text: int, below: int) -> int:
        """Return a new number, less than `below`, for a string with the tag; 0 if the table has no place for it."""
        content = self._contents.get(offsets.index) or self._content(offsets)
        length_at = start - 8  # of what follows it; version and padding are between
        length = int.from_bytes(content[length_at : length_at + 4], self._order)
        number = (len(content) - start) // size
        if size != 4 or length_at < 0 or length_at + 4 + length != len(content) or number >= below:
            return 0
        if not self._addends_of(offsets).add(len(content), self._tagged(text), self._symbols):
            return 0
        longer = (length + size).to_bytes(4, self._order)
        self._contents[offsets.index] = content[:length_at] + longer + content[length_at + 4 :] + bytes(size)
        return number

    def _tag_inline(self, addends: Addends, changed: bytearray, name: d.Name, size: int, referring: Referring) -> None:
        """Tag a name that stands in its entry, if a reference takes as many bytes."""
        text = inline_text(bytes(changed[name.place : name.place + size]))
        code = referring.code(name.code) if text else 0
        if code and addends.add(name.place, self._strings.place(text + self._tag), self._symbols):
            changed[name.entry : name.entry + len(encoded(code))] = encoded(code)
            changed[name.place : name.place + size] = bytes(size)

    def _tagged(self, place: int) -> int:
        return self._strings.place(self._strings.at(place) + self._tag)

    def _addends_of(self, section: ElfSection) -> Addends:
        if section.index not in self._addends:
            relocations = self._relocations.get(section.index)
            raw = self._file.elf.content(relocations) if relocations is not None else b""
            self._addends[section.index] = Addends(raw, self._order)
        return self._addends[section.index]

    def _content(self, section: ElfSection) -> bytes:
        """Return the content of a section, which may be compressed."""
        raw = self._file.elf.content(section)
        if not section.flags & e.SHF_COMPRESSED:
            return raw
        if int.from_bytes(raw[:4], self._order) != COMPRESSED_WITH_ZLIB:
            raise d.UnreadError
        return zlib.decompress(raw[COMPRESSION_HEADER:])


def _section_symbols(file: ElfObject) -> dict[int, frozenset[int]]:
    """Return the symbols that stand for each section."""
    found: dict[int, set[int]] = {}
    table = file.sections[file.symbol_section]
    for symbol in takewhile(lambda symbol: symbol.number < table.info, file.elf.symbols_of(table)):
        if symbol.kind == Kind.SECTION:
            found.setdefault(symbol.section, set()).add(symbol.number)
    return {section: frozenset(numbers) for section, numbers in found.items()}


def _encoded(name: str) -> bytes:
    return name.encode(errors="surrogateescape")
