"""Seals Mach-O objects: weak code and constants get names that are private to the level.

A linker keeps one of all weak definitions with the same name. So `f` becomes `f.avx2.NUMBER`, a private external
symbol: the objects of the level still share one copy, and no other program or library can refer to it. Sections keep
their names, because linkers do not use these to choose definitions.
"""

from __future__ import annotations

import struct
from collections.abc import Collection, Mapping

from ...model.names import private_name
from ..contents import Binding
from ..mangling import is_type
from ..object_file import ObjectFile
from . import layout as m
from .reader import Macho

TYPE_AT, DESCRIPTION_AT = 4, 6  # offsets in a symbol
NAMES_AT = 16  # where LC_SYMTAB contains the offset and size of the table of names


class MachoObject(ObjectFile[Macho]):
    """A Mach-O object in memory."""

    reader = Macho


def sealed(
    file: MachoObject, level: str, mark: str, private: Mapping[str, str], bounded_sections: Collection[str] = ()
) -> bytes:
    """Return the sealed content of an object (`isagen.binary.format.Format.seal`)."""
    names = {**private, **dict.fromkeys((symbol.name for symbol in file.weak_code_and_constants), level)}
    changes = _Renaming(file)
    for symbol in file.symbols:
        if symbol.name in names:
            changes.rename_symbol(symbol.number, private_name(symbol.name, names[symbol.name], mark))
            if symbol.section:
                changes.hide_symbol(symbol.number)
        if symbol.section and symbol.binding == Binding.GLOBAL and is_type(symbol.name):
            # Levels share type information, also that of a class whose key function a kernel source defines.
            changes.weaken_symbol(symbol.number)
    for function in file.local_functions():
        changes.rename_symbol(function.number, private_name(function.name, level, mark))
    return changes.content()


class _Renaming:
    def __init__(self, file: MachoObject) -> None:
        self._file = macho = file.file
        self._data = bytearray(macho.data)
        self._names = bytearray(macho.data[macho.names_at : macho.names_end])
        self._offsets: dict[bytes, int] = {}

    def rename_symbol(self, number: int, name: str) -> None:
        """Give a symbol another name in C; an underscore before the old name stays."""
        place = self._place(number)
        old = self._file.names_at + int.from_bytes(self._data[place : place + 4], "little")
        start = b"_" if self._data.startswith(b"_", old) else b""
        text = start + name.encode(errors="surrogateescape")
        if text not in self._offsets:
            self._offsets[text] = len(self._names)
            self._names += text + b"\0"
        struct.pack_into("<I", self._data, place, self._offsets[text])

    def hide_symbol(self, number: int) -> None:
        self._data[self._place(number) + TYPE_AT] |= m.N_PEXT

    def weaken_symbol(self, number: int) -> None:
        self._data[self._place(number) + DESCRIPTION_AT] |= m.N_WEAK_DEF

    def content(self) -> bytes:
        """Return the changed object. The table of names moves to the end of the file unless it is there already."""
        macho = self._file
        if not macho.symbol_count:
            return bytes(self._data)
        start = macho.names_at if macho.names_end == len(self._data) else -(-len(self._data) // 8) * 8
        struct.pack_into("<II", self._data, macho.symbol_command + NAMES_AT, start, len(self._names))
        return bytes(self._data[:start].ljust(start, b"\0") + self._names)

    def _place(self, number: int) -> int:
        return self._file.symbols_at + number * m.SYMBOL.size


def emptied(file: MachoObject) -> bytes:
    """Return an object for the same processor that defines nothing and refers to nothing.

    It contains the load commands that name the system's version: linkers warn if these are missing.
    """
    macho = file.file
    kept = [(place, size) for number, place, size in macho.commands() if number in m.VERSIONS]
    commands = b"".join(macho.data[place : place + size] for place, size in kept)
    _, machine, subtype, *_, flags, _ = m.HEADER.unpack_from(macho.data)
    header = m.HEADER.pack(m.MAGIC, machine, subtype, m.OBJECT, len(kept), len(commands), flags, 0)
    return header + commands
