"""Seals COFF objects: weak code and constants, and their sections, get names that are private to the level.

A linker keeps one of all COMDAT sections with the same symbol; GNU's linker also compares the names of the sections.
GNU's assembler writes the unwind data of `f` to COMDAT sections without a COMDAT symbol, such as `.pdata$f`. Of such
sections with the same name, linkers keep one. So `f` becomes `f.avx2.NUMBER`, also in the names `.text$f`, `.pdata$f`
and `.xdata$f`. COMDAT sections of code or constants get private names too if they have only local symbols, as in
assembly. Under Microsoft's ABI, the names of sections contain no symbols, and unwind data is associated with the
section of its function, so these sections need no private names.

In the name of a section of code, the part before `$` becomes the name that `layout.code_section` returns for the level.
In linked files, sections have only this part of the name, which shows the level.

If a symbol is renamed, directives to the linker to export or to retain the symbol are removed: no symbol has the old
name.

COFF has no hidden symbols. MinGW's linkers export all symbols of a DLL, sealed ones too, unless its sources or a .def
file say which symbols to export.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Collection, Mapping

from ...model.names import private_name
from ..contents import SymbolKind
from ..object_file import ObjectFile
from .layout import HEADER, SECTION, code_section
from .reader import Coff

LONGEST_OFFSET = 9_999_999  # a section's header contains a slash and the long name's offset, at most seven digits
# For a weak symbol `f`, GNU's assembler defines `.weak.f.OTHER`, where OTHER is a symbol of the object.
WEAK_DEFINITION = ".weak."
DIRECTIVES = ".drectve"  # the section with which the compiler passes options to the linker
DIRECTIVE = re.compile(rb"""(?<!\S)[-/](?:export|include):("?)([^\s,"]+)\1(,\S*)?""", re.IGNORECASE)
EMPTY_TABLE = struct.pack("<I", 4)  # an empty table of names: its size alone


class CoffObject(ObjectFile[Coff]):
    """A COFF object in memory."""

    reader = Coff


def sealed(
    file: CoffObject, level: str, mark: str, private: Mapping[str, str], bounded_sections: Collection[str] = ()
) -> bytes:
    """Return the sealed content of an object (`isagen.binary.format.Format.seal`)."""
    merged = dict.fromkeys((symbol.name for symbol in file.weak_code_and_constants), level)
    merged.update((symbol.name, level) for symbol in file.symbols if symbol.name.startswith(WEAK_DEFINITION))
    names = {name: private_name(name, owner, mark) for name, owner in {**private, **merged}.items()}
    changes = _Renaming(file)
    for symbol in file.symbols:
        if symbol.name in names:
            changes.rename_symbol(symbol.number, names[symbol.name])
    for function in file.local_functions():
        changes.rename_symbol(function.number, private_name(function.name, level, mark))
    sections: dict[int, str] = {}
    for section in file.file.sections[1:]:
        start, dollar, name = section.name.partition("$")
        if section.executable and section.size:
            start = code_section(level)
        if dollar and name in names:
            name = names[name]
        elif section.constant and section.index in file.file.unnamed:
            dollar, name = "$", private_name(name, level, mark)
        if f"{start}{dollar}{name}" != section.name:
            sections[section.index] = f"{start}{dollar}{name}"
            changes.rename_section(section.index, sections[section.index])
    changes.drop_directives(names)
    for own in file.file.symbols():
        if own.kind == SymbolKind.SECTION and own.section in sections:
            changes.rename_symbol(own.number, sections[own.section])
    return changes.content()


class _Renaming:
    def __init__(self, file: CoffObject) -> None:
        self._coff = coff = file.file
        self._data = bytearray(coff.data[: coff.strings_at])
        self._names = bytearray(coff.data[coff.strings_at : coff.strings_end] or EMPTY_TABLE)
        self._rest = coff.data[coff.strings_end :]
        self._offsets: dict[str, int] = {}

    def rename_symbol(self, number: int, name: str) -> None:
        place = self._coff.symbols_at + number * self._coff.entry.size
        struct.pack_into("<II", self._data, place, 0, self._offset(name))

    def rename_section(self, index: int, name: str) -> None:
        offset = self._offset(name)
        if offset > LONGEST_OFFSET:
            raise self._coff.fail(f"the name of section {name} would be too far in the table of names")
        place = self._coff.headers_at + (index - 1) * SECTION.size
        struct.pack_into("8s", self._data, place, f"/{offset}".encode())

    def drop_directives(self, names: Collection[str]) -> None:
        """Overwrite with spaces the directives that export or retain one of `names`."""
        for section in self._coff.sections:
            if section.name == DIRECTIVES:
                content = self._coff.content(section)
                changed = DIRECTIVE.sub(lambda found: _blank(found, names), content)
                if changed != content:
                    self._data[section.offset : section.offset + section.size] = changed

    def content(self) -> bytes:
        struct.pack_into("<I", self._names, 0, len(self._names))
        return bytes(self._data + self._names) + self._rest

    def _offset(self, name: str) -> int:
        if name not in self._offsets:
            self._offsets[name] = len(self._names)
            self._names += name.encode(errors="surrogateescape") + b"\0"
        return self._offsets[name]


def _blank(found: re.Match[bytes], names: Collection[str]) -> bytes:
    return b" " * len(found[0]) if found[2].decode(errors="surrogateescape") in names else found[0]


def emptied(file: CoffObject) -> bytes:
    """Return an object for the same processor that defines nothing and refers to nothing."""
    return HEADER.pack(file.file.machine, 0, 0, HEADER.size, 0, 0, 0) + EMPTY_TABLE
