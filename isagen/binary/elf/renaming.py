"""Renames, hides and weakens an ELF object's symbols, and renames its sections and groups; code and data do not change.

Symbols and section headers refer to names by offsets in string tables. A string table that needs new names is copied to
the end of the file, and the names are added to the copy.
"""

from __future__ import annotations

import struct

from .layout import STB_UNIQUE, STB_WEAK, STV_DEFAULT, STV_HIDDEN, STV_PROTECTED
from .objects import ElfObject


class Renaming:
    """Changes to one object; `content` returns the result."""

    def __init__(self, file: ElfObject) -> None:
        self._file = file
        self._layout = file.file.layout
        self._data = bytearray(file.data)
        self._added: dict[int, bytearray] = {}  # new names, by the index of the string table's section
        self._offsets: dict[tuple[int, str], int] = {}  # of new names, by (string table's index, name)

    def rename_symbol(self, number: int, name: str) -> None:
        """Give a symbol another name."""
        table = self._file.file.full_table
        assert table is not None
        struct.pack_into(self._layout.order + "I", self._data, self._symbol(number), self._offset(table.link, name))

    def hide_symbol(self, number: int) -> None:
        """Hide a symbol from other programs and libraries; a unique one becomes weak."""
        info_at = self._info(number)
        info, other = self._data[info_at : info_at + 2]
        if info >> 4 == STB_UNIQUE:
            self.weaken_symbol(number)
        if other & 3 in (STV_DEFAULT, STV_PROTECTED):
            self._data[info_at + 1] = other & ~3 | STV_HIDDEN

    def weaken_symbol(self, number: int) -> None:
        """Make a symbol weak."""
        info_at = self._info(number)
        self._data[info_at] = STB_WEAK << 4 | self._data[info_at] & 15

    def rename_section(self, index: int, name: str) -> None:
        """Give the section at `index` another name."""
        offset = self._offset(self._file.file.names_section, name)
        struct.pack_into(self._layout.order + "I", self._data, self._header(index), offset)

    def sign_group(self, section: int, signature: int) -> None:
        """Make the symbol with number `signature` the signature of the group whose section has the index `section`."""
        place = self._header(section) + (44 if self._layout.wide else 28)
        struct.pack_into(self._layout.order + "I", self._data, place, signature)

    def content(self) -> bytes:
        """Return the changed object."""
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
        """Return the offset of the kind and binding of a symbol; its visibility is in the next byte."""
        return self._symbol(number) + (4 if self._layout.wide else 12)

    def _header(self, index: int) -> int:
        return self._file.file.headers_at + index * self._layout.section.size

    def _offset(self, table: int, name: str) -> int:
        """Return the offset of a new name in a string table; `table` is its section's index. Adds the name there."""
        if (table, name) not in self._offsets:
            added = self._added.setdefault(table, bytearray())
            self._offsets[table, name] = self._file.sections[table].size + len(added)
            added += name.encode(errors="surrogateescape") + b"\0"
        return self._offsets[table, name]
