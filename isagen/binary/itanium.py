"""Demangles and classifies names of the Itanium C++ ABI, that of GCC and Clang (`isagen.binary.protocol.Mangling`)."""

from __future__ import annotations

import ctypes
from collections.abc import Collection, Iterator
from contextlib import suppress
from functools import cache
from typing import Any

# The run-time libraries of C++ that demangle: GNU's, LLVM's, FreeBSD's.
LIBRARIES = ("libstdc++.so.6", "libc++abi.so.1", "libcxxrt.so.1")


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
    """Return a symbol as C++ spells it, or unchanged. A suffix such as ``.cold`` does not change."""
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
    """Return whether a symbol is the type information of a class, or the name in it."""
    return name.startswith(("_ZTI", "_ZTS"))


def is_vtable(name: str) -> bool:
    """Return whether a symbol is the table of virtual functions of a class."""
    return name.startswith("_ZTV")


def is_guard(name: str) -> bool:
    """Return whether a symbol is the guard of a dynamically initialised variable."""
    return name.startswith("_ZGV")


def is_standard(name: str) -> bool:
    """Return whether a name of type information or of a vtable belongs to a class of the C++ library or its ABI."""
    return name[4:].startswith(("St", "NSt", "Sa", "Ss", "Si", "So", "Sd", "N10__cxxabiv1"))


def is_destructor(name: str) -> bool:
    """Return whether a function is a destructor, whose address only compilers can take.

    ``__tcf_0`` and ``__cxx_global_array_dtor`` are the destructors of arrays that GCC and Clang generate.
    """
    core = name.partition(".")[0]
    of_class = core.startswith("_ZN") and core.endswith(("D0Ev", "D1Ev", "D2Ev"))
    return of_class or core.startswith(("__tcf_", "__cxx_global_array_dtor"))


def initialised_variables(names: Collection[str]) -> Iterator[str]:
    """Yield the guards and initialisation functions in `names`, and the variables that these initialise.

    A guard's name does not show whether the variable has a mangled name or a plain one, so both names are yielded
    (Itanium C++ ABI, 5.1.4.4). ``_ZTH`` is the initialisation function of a thread-local variable.
    """
    for name in names:
        if name.startswith(("_ZGV", "_ZTH")):
            encoded = name[4:]
            yield from (name, f"_Z{encoded}", encoded.lstrip("0123456789"))
