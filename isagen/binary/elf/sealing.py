"""Sealing ELF objects: the weak code and constants of a level get names of their own, hidden from all other objects.

A linker keeps one of all weak functions that have the same name, and one of all COMDAT groups that have the same
signature, whichever level it was compiled for. So `_Z4sortIfEvPT_` of AVX2 becomes `_Z4sortIfEvPT_.avx2.NUMBER`, and
hidden, in all objects of AVX2: they go on sharing one copy, which no other object knows. The number tells projects in
one program apart; demanglers show `sort<float>(float*) [clone .avx2.NUMBER]`. `private` says which of these symbols are
a level's own. The level's functions that no linker would merge, and data with addresses of them, are given by name.

A level's code also goes to sections of its own, `.isa_text.LEVEL`, which a linker keeps apart: so the section headers
of a program or library, even of a stripped one, tell which code belongs to which level.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from ...model.names import CODE_SECTION
from ..protocol import Binding
from .layout import SHT_REL, SHT_RELA
from .objects import ElfObject
from .private import TYPE_INFORMATION
from .renaming import Renaming
from .values import ObjectSymbol

# Their parts from all objects make one function each, in the order of the link.
WHOLE_SECTIONS = (".init", ".fini")


def sealed(files: Sequence[ElfObject], level: str, mark: str, own: Collection[str] = ()) -> list[bytes]:
    """Return the sealed contents of all objects of `level`; `mark` is a number that no other project has.

    `own` are the names of symbols that are private to the level although no linker would merge them.
    """
    merged = [file.private_symbols for file in files]
    names = {symbol.name for symbols in merged for symbol in symbols}.union(own)
    bounded = _bounded_sections(files)
    contents = []
    for file, private in zip(files, merged, strict=True):
        changes = Renaming(file)
        _rename_private(file, changes, private, names, f".{level.lower()}.{mark}")
        _share_types(file, changes)
        _rename_code(file, changes, CODE_SECTION + level, bounded)
        contents.append(changes.content())
    return contents


def _rename_private(
    file: ElfObject, changes: Renaming, own: Iterable[ObjectSymbol], names: set[str], suffix: str
) -> None:
    """Rename the symbols called one of `names`, and the groups that hold `own`, the private symbols of this object."""
    renamed = [symbol for symbol in file.symbols if symbol.name in names]
    for symbol in renamed:
        changes.rename_symbol(symbol.place, symbol.name + suffix)
        if symbol.defined:
            changes.hide_symbol(symbol.place)
    first: dict[int, ObjectSymbol] = {}
    for symbol in own:
        first.setdefault(symbol.section, symbol)
    done = {symbol.place for symbol in renamed}
    data = {symbol.place for symbol in file.symbols if symbol.section}
    for group in file.groups:
        inside = [first[member] for member in group.members if member in first]
        if not inside or group.signature in done:
            continue
        if group.signature in data:  # shared data with code: the data keeps its name, the group gets the code's
            changes.sign_group(group.section, inside[0].place)
        else:  # a name for the group alone, such as _ZN1AC5Ev for all constructors of a class
            changes.rename_symbol(group.signature, group.name + suffix)


def _share_types(file: ElfObject, changes: Renaming) -> None:
    """Let the levels share type information that is not weak: of classes whose key function a kernel source defines."""
    for symbol in file.symbols:
        if symbol.defined and symbol.binding == Binding.GLOBAL and symbol.name.startswith(TYPE_INFORMATION):
            changes.weaken_symbol(symbol.place)


def _rename_code(file: ElfObject, changes: Renaming, name: str, bounded: set[str]) -> None:
    """Rename the sections of code, and their relocations, but for those that are looked for by name."""
    code = {
        index
        for index, section in enumerate(file.sections)
        if section.executable and section.name not in WHOLE_SECTIONS and section.name not in bounded
    }
    for index, section in enumerate(file.sections):
        if index in code:
            changes.rename_section(index, name)
        elif section.type in (SHT_RELA, SHT_REL) and section.info in code:
            changes.rename_section(index, (".rela" if section.type == SHT_RELA else ".rel") + name)


def _bounded_sections(files: Iterable[ElfObject]) -> set[str]:
    """Return the sections that the objects look for by name, through `__start_NAME` and `__stop_NAME`."""
    found = set()
    for file in files:
        for symbol in file.symbols:
            for prefix in ("__start_", "__stop_"):
                if not symbol.defined and symbol.name.startswith(prefix):
                    found.add(symbol.name.removeprefix(prefix))
    return found
