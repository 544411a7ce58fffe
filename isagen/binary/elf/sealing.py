"""Seals ELF objects: weak code and constants get names that are private to the level.

A linker keeps one of all weak functions with the same name, and one of all COMDAT groups with the same signature,
whatever their level. So in all objects of AVX2, `_Z4sortIfEvPT_` becomes `_Z4sortIfEvPT_.avx2.NUMBER`, a hidden symbol.
The objects of the level still share one copy, and no other object refers to it. The caller passes other names that
become private: those of functions that no linker merges, and of data that contains addresses of a level's functions.
Local functions are renamed too, so that debuggers and profilers show their level.

The sections of a level's code are renamed to `.isa_text.LEVEL`, because linkers do not mix sections of this name with
others. So the section headers of a program or library, even of a stripped one, show which code belongs to which level.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from ...model.names import private_name
from ..contents import Binding, Symbol
from ..mangling import is_type
from .entries import LOADER_FUNCTIONS
from .layout import SHT_REL, SHT_RELA
from .objects import ElfObject
from .reader import CODE_SECTION
from .renaming import Renaming


def sealed(
    file: ElfObject, level: str, mark: str, private: Mapping[str, str], bounded_sections: Collection[str] = ()
) -> bytes:
    """Return the sealed content of an object (`isagen.binary.format.Format.seal`)."""
    merged = file.weak_code_and_constants
    renamed = {**private, **dict.fromkeys((symbol.name for symbol in merged), level)}
    changes = Renaming(file)
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
    file: ElfObject, changes: Renaming, merged: Iterable[Symbol], renamed: Collection[str], suffix: str
) -> None:
    """Give the groups with `merged` symbols signatures of the level, unless the signature is a `renamed` symbol."""
    first: dict[int, Symbol] = {}  # by section
    for symbol in merged:
        first.setdefault(symbol.section, symbol)
    renamed_numbers = {symbol.number for symbol in file.symbols if symbol.name in renamed}
    defined = {symbol.number for symbol in file.symbols if symbol.section}
    for group in file.groups:
        inside = [first[member] for member in group.members if member in first]
        if not inside or group.signature in renamed_numbers:
            continue
        if group.signature in defined:  # the signature is the name of shared data, which does not change
            changes.sign_group(group.section, inside[0].number)
        else:  # only the group has this name, such as _ZN1AC5Ev for all constructors of a class
            changes.rename_symbol(group.signature, group.name + suffix)


def _rename_code(file: ElfObject, changes: Renaming, name: str, bounded_sections: Collection[str]) -> None:
    """Rename the sections of code, except .init, .fini and `bounded_sections`, and their sections of relocations."""
    unchanged = {*LOADER_FUNCTIONS, *bounded_sections}
    code = {section.index for section in file.sections if section.executable and section.name not in unchanged}
    for section in file.sections:
        if section.index in code:
            changes.rename_section(section.index, name)
        elif section.type in (SHT_RELA, SHT_REL) and section.info in code:
            changes.rename_section(section.index, (".rela" if section.type == SHT_RELA else ".rel") + name)
