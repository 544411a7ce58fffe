"""Seals ELF objects: weak code and constants get names that are private to the level. Adds notes, and empties objects.

A linker keeps one of all weak functions with the same name, and one of all COMDAT groups with the same signature,
whatever their level. So in all objects of AVX2, `_Z4sortIfEvPT_` becomes `_Z4sortIfEvPT_.avx2.NUMBER`, a hidden symbol.
The objects of the level still share one copy, and no other object refers to it. The caller passes other names that
become private (`build/addresses.py`), such as those of data that contains addresses of a level's functions.
Local functions are renamed too, so that debuggers and profilers show their level.

The sections of a level's code are renamed to `.isa_text.LEVEL`. Linkers do not mix these with other sections, so the
section headers of a program or library show which code belongs to which level, even if the file is stripped.
"""

from __future__ import annotations

import struct
from collections.abc import Collection, Iterable, Mapping

from ...model.names import private_name
from ..contents import Binding, Symbol
from ..mangling import is_type
from ..notes import note_of
from . import layout as e
from .objects import ElfObject
from .reader import CODE_SECTION, LOADER_FUNCTIONS

NOTES = b".note.isagen\0"
ALIGNMENT = 4
# Sections that an emptied object retains, because a linker combines those of all objects: PROPERTIES (non-executable
# stack, branch protection) and ATTRIBUTES (the processor's ABI).
PROPERTIES = (".note.GNU-stack", ".note.gnu.property")
# SHT_ARM_ATTRIBUTES and SHT_RISCV_ATTRIBUTES, which have the same number; SHT_MIPS_ABIFLAGS; SHT_GNU_ATTRIBUTES.
ATTRIBUTES = frozenset({0x70000003, 0x7000002A, 0x6FFFFFF5})
STRINGS = ".shstrtab"


def sealed(
    file: ElfObject, level: str, mark: str, private: Mapping[str, str], bounded_sections: Collection[str] = ()
) -> bytes:
    """Return the sealed content of an object (`isagen.binary.format.Format.seal`)."""
    merged = file.weak_code_and_constants
    renamed = {**private, **dict.fromkeys((symbol.name for symbol in merged), level)}
    changes = _Renaming(file)
    for symbol in file.symbols:
        if symbol.name in renamed:
            changes.rename_symbol(symbol.number, private_name(symbol.name, renamed[symbol.name], mark))
            if symbol.definition:
                changes.hide_symbol(symbol.number)
        if symbol.definition and symbol.binding == Binding.GLOBAL and is_type(symbol.name):
            # Levels share type information, also that of a class whose key function a kernel source defines.
            changes.weaken_symbol(symbol.number)
    _rename_groups(file, changes, merged, renamed, private_name("", level, mark))
    for function in file.local_functions():
        changes.rename_symbol(function.number, private_name(function.name, level, mark))
    _rename_code(file, changes, CODE_SECTION + level, file.bounded_sections.union(bounded_sections))
    return changes.content()


def _rename_groups(
    file: ElfObject, changes: _Renaming, merged: Iterable[Symbol], renamed: Collection[str], suffix: str
) -> None:
    """Make the signatures of groups with `merged` symbols private to the level, unless they are in `renamed`."""
    first: dict[int, Symbol] = {}  # the first merged symbol, by section
    for symbol in merged:
        first.setdefault(symbol.section, symbol)
    renamed_numbers = {symbol.number for symbol in file.symbols if symbol.name in renamed}
    defined = {symbol.number for symbol in file.symbols if symbol.section}
    for group in file.groups:
        inside = [first[member] for member in group.members if member in first]
        if not inside or group.signature in renamed_numbers:
            continue
        if group.signature in defined:  # the signature is the symbol of shared data, whose name does not change
            changes.sign_group(group.section, inside[0].number)
        else:  # only the group has this name, such as _ZN1AC5Ev for all constructors of a class
            changes.rename_symbol(group.signature, group.name + suffix)


def _rename_code(file: ElfObject, changes: _Renaming, name: str, bounded_sections: Collection[str]) -> None:
    """Rename sections of code and of their relocations, except .init, .fini and `bounded_sections`."""
    unchanged = {*LOADER_FUNCTIONS, *bounded_sections}
    code = {section.index for section in file.sections if section.executable and section.name not in unchanged}
    for section in file.sections:
        if section.index in code:
            changes.rename_section(section.index, name)
        elif section.type in (e.SHT_RELA, e.SHT_REL) and section.info in code:
            changes.rename_section(section.index, (".rela" if section.type == e.SHT_RELA else ".rel") + name)


class _Renaming:
    """Changes to one object; `content` returns the changed object. Code and data do not change.

    Symbols and section headers refer to names by offsets in string tables. A string table that needs new names is
    copied to the end of the file, and the names are added to the copy.
    """

    def __init__(self, file: ElfObject) -> None:
        self._file = file
        self._layout = file.file.layout
        self._data = bytearray(file.data)
        self._added: dict[int, bytearray] = {}  # new names, by the index of the string table's section
        self._offsets: dict[tuple[int, str], int] = {}  # of new names, by (string table's index, name)

    def rename_symbol(self, number: int, name: str) -> None:
        table = self._file.file.full_table
        assert table is not None
        struct.pack_into(self._layout.order + "I", self._data, self._symbol(number), self._offset(table.link, name))

    def hide_symbol(self, number: int) -> None:
        """Hide a symbol from other programs and libraries; a unique one becomes weak."""
        info_at = self._info(number)
        info, other = self._data[info_at : info_at + 2]
        if info >> 4 == e.STB_UNIQUE:
            self.weaken_symbol(number)
        if other & 3 in (e.STV_DEFAULT, e.STV_PROTECTED):
            self._data[info_at + 1] = other & ~3 | e.STV_HIDDEN

    def weaken_symbol(self, number: int) -> None:
        info_at = self._info(number)
        self._data[info_at] = e.STB_WEAK << 4 | self._data[info_at] & 15

    def rename_section(self, index: int, name: str) -> None:
        offset = self._offset(self._file.file.names_section, name)
        struct.pack_into(self._layout.order + "I", self._data, self._header(index), offset)

    def sign_group(self, section: int, signature: int) -> None:
        place = self._header(section) + (44 if self._layout.wide else 28)
        struct.pack_into(self._layout.order + "I", self._data, place, signature)

    def content(self) -> bytes:
        words = self._layout.order + ("QQ" if self._layout.wide else "II")
        for index, added in self._added.items():
            table = self._file.sections[index]
            place = self._header(index) + (24 if self._layout.wide else 16)
            struct.pack_into(words, self._data, place, len(self._data), table.size + len(added))
            self._data += self._file.file.content(table) + added
        return bytes(self._data)

    def _symbol(self, number: int) -> int:
        table = self._file.file.full_table
        assert table is not None
        return table.offset + number * self._layout.symbol.size

    def _info(self, number: int) -> int:
        """Return the offset of the byte with a symbol's kind and binding. The next byte contains its visibility."""
        return self._symbol(number) + (4 if self._layout.wide else 12)

    def _header(self, index: int) -> int:
        return self._file.file.headers_at + index * self._layout.section.size

    def _offset(self, table: int, name: str) -> int:
        """Add a name once to the string table in the section with index `table`, and return the name's offset."""
        if (table, name) not in self._offsets:
            added = self._added.setdefault(table, bytearray())
            self._offsets[table, name] = self._file.sections[table].size + len(added)
            added += name.encode(errors="surrogateescape") + b"\0"
        return self._offsets[table, name]


def with_note(content: bytes, owner: str, text: bytes) -> bytes:
    """Return the content of an object with an added note of this owner and text."""
    file = ElfObject(content, "object")
    layout, elf = file.file.layout, file.file
    note = note_of(owner, text, layout.byteorder)
    data = bytearray(file.data)
    names = elf.sections[elf.names_section]
    table = elf.data[elf.headers_at :][: len(file.sections) * layout.section.size]
    headers = [list(header) for header in layout.section.iter_unpack(table)]

    headers[names.index][4:6] = len(data), names.size + len(NOTES)
    data += elf.content(names) + NOTES
    _align(data, ALIGNMENT)
    headers.append([names.size, e.SHT_NOTE, e.SHF_ALLOC, 0, len(data), len(note), 0, 0, ALIGNMENT, 0])
    data += note
    _align(data, layout.word)
    fields = list(layout.header.unpack_from(data))
    fields[6] = len(data)  # e_shoff
    if len(headers) >= e.SHN_LORESERVE:  # section 0 contains the number of sections
        headers[0][5], fields[-2] = len(headers), 0
    else:
        fields[-2] = len(headers)  # e_shnum
    layout.header.pack_into(data, 0, *fields)
    return bytes(data) + b"".join(layout.section.pack(*header) for header in headers)


def _align(data: bytearray, size: int) -> None:
    data += b"\0" * (-len(data) % size)


def emptied(file: ElfObject) -> bytes:
    """Return an object for the same processor and ABI that defines nothing and refers to nothing."""
    layout, elf = file.file.layout, file.file
    data, names = bytearray(file.data[: layout.header.size]), b"\0"
    headers: list[tuple[int, ...]] = [(0,) * 10]
    for section in file.sections:
        if section.name in PROPERTIES or section.type in ATTRIBUTES:
            alignment = max(section.alignment, 1)
            _align(data, alignment)
            place = len(names), section.type, section.flags, 0, len(data), section.size
            headers.append((*place, 0, 0, alignment, 0))
            names += section.name.encode() + b"\0"
            data += elf.content(section)
    headers.append((len(names), e.SHT_STRTAB, 0, 0, len(data), len(names) + len(STRINGS) + 1, 0, 0, 1, 0))
    data += names + STRINGS.encode() + b"\0"
    _align(data, layout.word)
    fields = list(layout.header.unpack_from(data))
    fields[5:7] = 0, len(data)  # e_phoff, e_shoff
    fields[-4], fields[-2:] = 0, (len(headers), len(headers) - 1)  # e_phnum; e_shnum, e_shstrndx
    layout.header.pack_into(data, 0, *fields)
    return bytes(data) + b"".join(layout.section.pack(*header) for header in headers)
