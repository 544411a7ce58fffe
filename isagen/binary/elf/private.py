"""Which of the symbols that a linker would merge across levels belong to one level alone.

Code does, and constants with it: vtables hold addresses of a level's code, and tables may be laid out for its vectors.
So do variables that code initialises: each level might compute another value. Other data that the program writes to,
such as function statics and inline variables, stays shared as the language says; so does type information, by which
exceptions are caught. Shared data must have one initial value at all levels, which the registrations check.
"""

from __future__ import annotations

from ..itanium import is_type
from ..protocol import Kind
from .values import ObjectSymbol

# Clang's counters of a function (-fprofile-generate, -fcoverage-mapping): as many as that level's code branches. No
# source names them, so that they count as constants; tools add up those of all levels.
COUNTERS = ("__profc_", "__profd_", "__profvp_")


def is_private(symbol: ObjectSymbol) -> bool:
    """Return whether a mergeable symbol belongs to its object's level alone."""
    if symbol.code:
        return True
    if symbol.kind not in (Kind.DATA, Kind.LABEL):  # assembly need not say what a symbol names
        return False
    return symbol.section != 0 and symbol.constant and not is_type(symbol.name)
