"""Which symbols belong to one level alone, of those that a linker would merge with symbols of other levels.

Code does, and constants with it: vtables hold addresses of a level's code, and tables may be laid out for its vectors.
What can be written to, such as function statics and inline variables, stays shared as the language says; so does type
information, by which exceptions are caught. What is shared must be the same at all levels: `registrations` checks its
size.
"""

from __future__ import annotations

from collections.abc import Iterator

from .objects import ObjectFile, Symbol

# Itanium C++ ABI: typeinfo structures and names.
TYPE_INFORMATION = ("_ZTI", "_ZTS")
# Clang's counters of a function (-fprofile-instr-generate, -fcoverage-mapping): as many as that level's code branches.
COUNTERS = ("__profc_", "__profd_", "__profvp_")


def private_symbols(elf: ObjectFile) -> Iterator[Symbol]:
    """Yield the symbols that belong to the level of `elf`, of those that it defines and that a linker would merge."""
    return (symbol for symbol in mergeable_symbols(elf) if is_private(symbol, elf))


def mergeable_symbols(elf: ObjectFile) -> Iterator[Symbol]:
    """Yield what `elf` and other objects may define: weak and unique symbols, and all that are in groups."""
    grouped = {member for group in elf.groups for member in group.members}
    for symbol in elf.symbols:
        if symbol.defined and (symbol.binding in ("WEAK", "UNIQUE") or symbol.section in grouped):
            yield symbol


def is_private(symbol: Symbol, elf: ObjectFile) -> bool:
    """Return whether a symbol that `elf` defines belongs to its level alone."""
    if symbol.kind in ("FUNC", "IFUNC") or symbol.name.startswith(COUNTERS):
        return True
    if symbol.kind == "OBJECT":
        return symbol.constant and not symbol.name.startswith(TYPE_INFORMATION)
    return symbol.section != 0 and elf.sections[symbol.section].executable
