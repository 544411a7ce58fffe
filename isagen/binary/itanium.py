"""The names of the Itanium C++ ABI, which all compilers but Microsoft's give (`isagen.binary.protocol.Mangling`)."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cache
from typing import Any

# The run-time libraries of C++ that demangle: GNU's, LLVM's, FreeBSD's.
LIBRARIES = ("libstdc++.so.6", "libc++abi.so.1", "libcxxrt.so.1")
TYPE_INFORMATION = ("_ZTI", "_ZTS")
INITIALISED = ("_ZGV", "_ZTH")


@cache
def _demangler() -> tuple[Any, Any] | None:
    """Return the libraries of C++ and of C, as `ctypes` loads them."""
    for name in LIBRARIES:
        with suppress(OSError, AttributeError):
            library = ctypes.CDLL(name)
            library.__cxa_demangle.restype = ctypes.c_void_p
            return library, ctypes.CDLL(None)
    return None  # then names stay as the linker sees them


@cache
def demangle(symbol: str) -> str:
    """Return a symbol as C++ writes it, or unchanged; what follows a dot, as in GCC's clone `f.cold`, stays."""
    found = _demangler()
    if found is None or not symbol.startswith("_Z"):
        return symbol
    library, libc = found
    name, dot, suffix = symbol.partition(".")
    status = ctypes.c_int()
    text = library.__cxa_demangle(name.encode(errors="surrogateescape"), None, None, ctypes.byref(status))
    if not text:
        return symbol
    shown = ctypes.string_at(text).decode(errors="replace")
    libc.free(ctypes.c_void_p(text))
    return shown + dot + suffix


def is_type(name: str) -> bool:
    """Return whether a symbol is the type information of a class, or its name."""
    return name.startswith(TYPE_INFORMATION)


def is_vtable(name: str) -> bool:
    """Return whether a symbol is the table of virtual functions of a class."""
    return name.startswith("_ZTV")


def is_guard(name: str) -> bool:
    """Return whether a symbol is the guard of a variable that code initialises."""
    return name.startswith("_ZGV")


def is_standard(name: str) -> bool:
    """Return whether the type information or table of a class is of the C++ library, or of its ABI."""
    return name[4:].startswith(("St", "NSt", "Sa", "Ss", "Si", "So", "Sd", "N10__cxxabiv1"))


def is_destructor(name: str) -> bool:
    """Return whether a function destroys a variable: code whose address no source can take, only a compiler.

    ``__tcf_0`` and ``__cxx_global_array_dtor`` are those of GCC and Clang for arrays.
    """
    core = name.partition(".")[0]
    of_class = core.startswith("_ZN") and core.endswith(("D0Ev", "D1Ev", "D2Ev"))
    return of_class or core.startswith(("__tcf_", "__cxx_global_array_dtor"))


def initialised_variables(names: Iterable[str]) -> Iterator[str]:
    """Yield the variables that code initialises, and their guards: `names` contain a guard or an initialisation
    function.

    Of the names that a guard may be for, one is the variable's (Itanium C++ ABI, 5.1.4.4; ``_ZTH``: thread-local ones).
    """
    for name in names:
        if name.startswith(INITIALISED):
            rest = name[4:]
            yield from (name, f"_Z{rest}", rest.lstrip("0123456789"))
