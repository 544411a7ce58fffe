"""Classifies the mangled names of Microsoft's C++ ABI, which clang-cl and cl use."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

START = "?"  # the first character of a mangled name, except that of a table of exceptions
# Type descriptors, base classes and class hierarchies. `??_R4` belongs to a vtable and not to a type.
TYPES = ("??_R0", "??_R1", "??_R2", "??_R3")
# String literals and numbers: their names contain the value, or a hash of the value.
LITERALS = ("??_C@", "__real@", "__xmm@", "__ymm@", "__zmm@")
# Guards of static variables in a block: ?$TSS with a lock, ?$S without, ??_B in inline functions, ??__J per thread.
GUARD = re.compile(r"(?:\?\$(?:TSS|S)\d+@|\?\?_B|\?\?__J)(?P<block>\?.+@)[45]")
# Starts of destructors: ordinary, deleting an object or an array, with virtual bases, at exit, of a stack frame.
DESTRUCTORS = ("??1", "??_G", "??_E", "??_D", "??__F", "?dtor$")
INITIALISER = re.compile(r"\?\?__E(?P<variable>.+?)@?@YAXXZ")


def is_type(name: str) -> bool:
    """Return whether a symbol is the type information of a class."""
    return name.startswith(TYPES)


def is_literal(name: str) -> bool:
    """Return whether a symbol is a constant whose name contains its value."""
    return name.startswith(LITERALS)


def is_vtable(name: str) -> bool:
    """Return whether a symbol is the table of virtual functions of a class."""
    return name.startswith("??_7")


def is_guard(name: str) -> bool:
    """Return whether a symbol is the guard of a dynamically initialised variable."""
    return GUARD.match(name) is not None


def is_standard(name: str) -> bool:
    """Return whether a name of type information or of a vtable belongs to a class of the C++ library."""
    owner = name.partition("@@")[0]
    return owner.endswith("@std") or owner == "??_7type_info"


def is_destructor(name: str) -> bool:
    """Return whether a function is a destructor, whose address only compilers can take."""
    return name.startswith(DESTRUCTORS)


def initialised_variables(names: Collection[str]) -> Iterator[str]:
    """Yield the guards and initialisation functions in `names`, and the variables that these initialise.

    The name of a guard contains the block, and not the variable, so all static variables of the block are yielded.
    """
    for name in names:
        if found := INITIALISER.match(name):
            variable = found["variable"]
            start = f"?{variable}@@"  # the variable's type follows
            yield from (name, variable, *(other for other in names if other.startswith(start)))
        elif found := GUARD.match(name):
            block = "@" + found["block"]
            yield from (name, *(other for other in names if other.startswith(START) and block in other))
