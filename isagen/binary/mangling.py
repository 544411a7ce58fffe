"""Demangles and classifies the mangled names of C++.

GCC and Clang mangle by the Itanium C++ ABI, cl and clang-cl by Microsoft's. Each name shows its ABI. A program may
contain names of both ABIs, because it may use a DLL of the other one.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Collection, Iterator
from contextlib import suppress
from functools import cache
from typing import Any

# The run-time libraries of C++ that demangle: GNU's, LLVM's, FreeBSD's.
LIBRARIES = ("libstdc++.so.6", "libc++abi.so.1", "libcxxrt.so.1")
MICROSOFT = "?"  # the first character of Microsoft's mangled names, except those of tables of exceptions
# In order, Itanium: type information, names of types. Microsoft: descriptors of types, of base classes, of arrays of
# base classes, of class hierarchies. `??_R4` belongs to a vtable and not to a type.
TYPES = ("_ZTI", "_ZTS", "??_R0", "??_R1", "??_R2", "??_R3")
# Microsoft's string literals and numbers: their names contain the value, or a hash of the value.
LITERALS = ("??_C@", "__real@", "__xmm@", "__ymm@", "__zmm@")
VTABLES = ("_ZTV", "??_7")
# Microsoft's guards of static variables in a block: ?$TSS with a lock, ?$S without one, ??_B in inline functions, ??__J
# per thread.
GUARD = re.compile(r"(?:\?\$(?:TSS|S)\d+@|\?\?_B|\?\?__J)(?P<block>\?.+@)[45]")
ITANIUM_STANDARD = ("St", "NSt", "Sa", "Ss", "Si", "So", "Sd", "N10__cxxabiv1")
# Prefixes of destructors, in order. GCC and Clang: of arrays. Microsoft's ABI: ordinary ones, and those that delete an
# object, delete an array, destroy virtual bases too, run at exit, and destroy local variables during unwinding.
DESTRUCTORS = ("__tcf_", "__cxx_global_array_dtor", "??1", "??_G", "??_E", "??_D", "??__F", "?dtor$")
INITIALISER = re.compile(r"\?\?__E(?P<variable>.+?)@?@YAXXZ")


@cache
def _demangler() -> tuple[Any, Any] | None:
    """Return the libraries of C++ and of C, as `ctypes` loads them; None if there is no library of C++."""
    for name in LIBRARIES:
        with suppress(OSError, AttributeError):
            library = ctypes.CDLL(name)
            library.__cxa_demangle.restype = ctypes.c_void_p
            return library, ctypes.CDLL(None)
    return None


@cache
def demangle(symbol: str) -> str:
    """Return a symbol of the Itanium ABI as C++ spells it, and others unchanged. A suffix such as ``.cold`` stays.

    Microsoft's names stay unchanged because only Windows has a library that demangles them. If this machine has none of
    `LIBRARIES`, all names stay unchanged.
    """
    libraries = _demangler()
    if libraries is None or not symbol.startswith("_Z"):
        return symbol
    cxx, libc = libraries
    name, dot, suffix = symbol.partition(".")
    status = ctypes.c_int()
    text = cxx.__cxa_demangle(name.encode(errors="surrogateescape"), None, None, ctypes.byref(status))
    if not text:
        return symbol
    demangled = ctypes.string_at(text).decode(errors="replace")
    libc.free(ctypes.c_void_p(text))
    return demangled + dot + suffix


def is_type(name: str) -> bool:
    """Return whether a symbol is a part of the type information of a class or another type."""
    return name.startswith(TYPES)


def is_literal(name: str) -> bool:
    """Return whether a symbol is a constant whose name contains its value or a hash of it."""
    return name.startswith(LITERALS)


def is_vtable(name: str) -> bool:
    """Return whether a symbol is the table of virtual functions of a class."""
    return name.startswith(VTABLES)


def is_guard(name: str) -> bool:
    """Return whether a symbol is the guard of a dynamically initialised variable."""
    return name.startswith("_ZGV") or GUARD.match(name) is not None


def is_standard(name: str) -> bool:
    """Return whether type information or a vtable of this name belongs to a type of the C++ library or its ABI."""
    if name.startswith(MICROSOFT):
        owner = name.partition("@@")[0]
        return owner.endswith("@std") or owner == "??_7type_info"
    return name[4:].startswith(ITANIUM_STANDARD)


def is_destructor(name: str) -> bool:
    """Return whether a function is a destructor, whose address a source cannot take. Compilers take such addresses."""
    core = name.partition(".")[0]
    return name.startswith(DESTRUCTORS) or (core.startswith("_ZN") and core.endswith(("D0Ev", "D1Ev", "D2Ev")))


def initialised_variables(names: Collection[str]) -> Iterator[str]:
    """Yield the guards and initialisation functions in `names`, and the names that their variables may have.

    The Itanium ABI's name of a guard (5.1.4.4) does not show whether the variable has a mangled name or a plain one, so
    both names are yielded. ``_ZTH`` starts the name of the initialisation function of a thread-local variable.
    Microsoft's name of a guard shows only the variable's block, so all Microsoft names with this block are yielded.
    """
    for name in names:
        if name.startswith(("_ZGV", "_ZTH")):
            encoded = name[4:]
            yield from (name, f"_Z{encoded}", encoded.lstrip("0123456789"))
        elif found := INITIALISER.match(name):
            variable = found["variable"]
            start = f"?{variable}@@"  # the variable's type follows
            yield from (name, variable, *(other for other in names if other.startswith(start)))
        elif found := GUARD.match(name):
            block = "@" + found["block"]
            yield from (name, *(other for other in names if other.startswith(MICROSOFT) and block in other))
