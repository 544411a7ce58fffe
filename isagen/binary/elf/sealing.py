"""Sealing ELF objects: the weak code and constants of a level get names of their own, hidden from all other objects.

A linker keeps one of all weak functions that have the same name, and one of all COMDAT groups that have the same
signature, whichever level it was compiled for. So `_Z4sortIfEvPT_` of AVX2 becomes `_Z4sortIfEvPT_.avx2.NUMBER`, and
hidden, in all objects of AVX2: they go on sharing one copy, which no other object knows. `private` says which of these
symbols are a level's own. The level's functions that no linker would merge, and data with addresses of them, are
given by name. Local functions get such names too, so that debuggers and profilers tell the levels apart.

A level's code also goes to sections of its own, `.isa_text.LEVEL`, which a linker keeps apart: so the section headers
of a program or library, even of a stripped one, tell which code belongs to which level.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from ..itanium import is_type
from ..private_names import private_name
from ..protocol import Binding
from ..sealing_protocol import NamedSymbol
from .layout import SHT_REL, SHT_RELA
from .objects import ElfObject
from .reader import CODE_SECTION
from .renaming import Renaming

# Their parts from all objects make one function each, in the order of the link.
WHOLE_SECTIONS = (".init", ".fini")


def sealed(
    file: ElfObject, level: str, mark: str, private: Collection[str] = (), bounded_sections: Collection[str] = ()
) -> bytes:
    """Return the sealed content of an object of `level`; `mark` is a number that no other project has.

    The names of its `weak_code_and_constants` become private to the level, and the names in `private` too.
    `bounded_sections` are the sections whose bounds objects of the level name.
    """
    mergeable = file.weak_code_and_constants
    renamed = {name: private_name(name, level, mark) for name in sorted({*private, *(one.name for one in mergeable)})}
    changes = Renaming(file)
    _rename_private(file, changes, renamed)
    _rename_groups(file, changes, mergeable, renamed, private_name("", level, mark))
    for place, name in file.local_functions:
        changes.rename_symbol(place, private_name(name, level, mark))
    _share_types(file, changes)
    _rename_code(file, changes, CODE_SECTION + level, file.bounded_sections.union(bounded_sections))
    return changes.content()


def _rename_private(file: ElfObject, changes: Renaming, private: Mapping[str, str]) -> None:
    """Give the symbols of an object their `private` names."""
    for symbol in file.symbols:
        if symbol.name in private:
            changes.rename_symbol(symbol.place, private[symbol.name])
            if symbol.defined:
                changes.hide_symbol(symbol.place)


def _rename_groups(
    file: ElfObject, changes: Renaming, own: Iterable[NamedSymbol], private: Collection[str], end: str
) -> None:
    """Rename the groups that hold `own`, the private symbols of this object, where no private name does it."""
    first: dict[int, NamedSymbol] = {}
    for symbol in own:
        first.setdefault(symbol.section, symbol)
    done = {symbol.place for symbol in file.symbols if symbol.name in private}
    data = {symbol.place for symbol in file.symbols if symbol.section}
    for group in file.groups:
        inside = [first[member] for member in group.members if member in first]
        if not inside or group.signature in done:
            continue
        if group.signature in data:  # shared data with code: the data keeps its name, the group gets the code's
            changes.sign_group(group.section, inside[0].place)
        else:  # a name for the group alone, such as _ZN1AC5Ev for all constructors of a class
            changes.rename_symbol(group.signature, group.name + end)


def _share_types(file: ElfObject, changes: Renaming) -> None:
    """Let the levels share type information that is not weak: of classes whose key function a kernel source defines."""
    for symbol in file.symbols:
        if symbol.defined and symbol.binding == Binding.GLOBAL and is_type(symbol.name):
            changes.weaken_symbol(symbol.place)


def _rename_code(file: ElfObject, changes: Renaming, name: str, bounded_sections: Collection[str]) -> None:
    """Rename the sections of code, and their relocations, but for those that are looked for by name.

    They also get addresses, because GNU's objdump tells sections of one name apart by nothing else. Linkers take none
    of these from an object.
    """
    code = {
        index: None
        for index, section in enumerate(file.sections)
        if section.executable and section.name not in WHOLE_SECTIONS and section.name not in bounded_sections
    }
    changes.set_apart(code)
    for index, section in enumerate(file.sections):
        if index in code:
            changes.rename_section(index, name)
        elif section.type in (SHT_RELA, SHT_REL) and section.info in code:
            changes.rename_section(index, (".rela" if section.type == SHT_RELA else ".rel") + name)
