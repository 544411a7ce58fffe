"""Renaming the symbols and sections of an ELF object; code and data do not move or change.

Names live in string tables, which symbols and section headers point into. The new names go to longer copies of the
tables at the end of the file: everything else stays as the assembler wrote it.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable

from .layout import STB_UNIQUE, STB_WEAK, STV_DEFAULT, STV_HIDDEN, STV_PROTECTED
from .objects import ElfObject


class Renaming:
    """Changes to one object, which `content` applies."""

    def __init__(self, file: ElfObject) -> None:
        self._file = file
        self._layout = file.elf.layout
        self._data = bytearray(file.data)
        self._added: dict[int, bytearray] = {}
        self._places: dict[tuple[int, str], int] = {}

    def rename_symbol(self, index: int, name: str) -> None:
        """Give the symbol at `index` of the symbol table another name."""
        table = self._file.sections[self._file.symbol_section]
        struct.pack_into(self._layout.order + "I", self._data, self._symbol(index), self._place(table.link, name))

    def hide_symbol(self, index: int) -> None:
        """Hide the symbol at `index` from other programs and libraries; a unique one becomes weak."""
        info_at = self._symbol(index) + (4 if self._layout.wide else 12)
        info, other = self._data[info_at : info_at + 2]
        if info >> 4 == STB_UNIQUE:
            self._data[info_at] = STB_WEAK << 4 | info & 15
        if other & 3 in (STV_DEFAULT, STV_PROTECTED):
            self._data[info_at + 1] = other & ~3 | STV_HIDDEN

    def weaken_symbol(self, index: int) -> None:
        """Make the symbol at `index` of the symbol table weak."""
        info_at = self._symbol(index) + (4 if self._layout.wide else 12)
        self._data[info_at] = STB_WEAK << 4 | self._data[info_at] & 15

    def rename_section(self, index: int, name: str) -> None:
        """Give the section at `index` another name."""
        place = self._place(self._file.elf.names_section, name)
        struct.pack_into(self._layout.order + "I", self._data, self._header(index), place)

    def set_apart(self, indexes: Iterable[int]) -> None:
        """Give the sections at `indexes` addresses at which none covers another."""
        layout, free = self._layout.section, 0
        for index in indexes:
            values = list(layout.unpack_from(self._data, self._header(index)))
            alignment = max(values[8], 1)
            values[3] = -(-free // alignment) * alignment
            free = values[3] + values[5]
            if free > self._layout.highest:
                return
            layout.pack_into(self._data, self._header(index), *values)

    def sign_group(self, section: int, signature: int) -> None:
        """Let the group section at `section` have the symbol at `signature` as its signature."""
        place = self._header(section) + (44 if self._layout.wide else 28)
        struct.pack_into(self._layout.order + "I", self._data, place, signature)

    def content(self) -> bytes:
        """Return the changed object."""
        word = self._layout.order + ("QQ" if self._layout.wide else "II")
        for index, added in self._added.items():
            table = self._file.sections[index]
            place = (word, self._data, self._header(index) + (24 if self._layout.wide else 16))
            struct.pack_into(*place, len(self._data), table.size + len(added))
            self._data += self._file.data[table.offset : table.offset + table.size] + added
        return bytes(self._data)

    def _symbol(self, index: int) -> int:
        table = self._file.sections[self._file.symbol_section]
        return table.offset + index * self._layout.symbol.size

    def _header(self, index: int) -> int:
        return self._file.elf.headers_at + index * self._layout.section.size

    def _place(self, table: int, name: str) -> int:
        """Return where `name` stands in the string table at section `table`, adding it if need be."""
        if (table, name) not in self._places:
            added = self._added.setdefault(table, bytearray())
            self._places[table, name] = self._file.sections[table].size + len(added)
            added += name.encode(errors="surrogateescape") + b"\0"
        return self._places[table, name]
