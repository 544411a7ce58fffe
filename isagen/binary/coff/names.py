"""Classifies the mangled C++ names in COFF objects (`isagen.binary.protocol.Mangling`).

MinGW's compilers mangle by the Itanium ABI, others by Microsoft's. A name belongs to one ABI, but a program may contain
names of both, because MinGW's C code can call a DLL of the other ABI.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import chain

from .. import itanium, microsoft

is_literal = microsoft.is_literal  # MinGW's literals have no symbols
demangle = itanium.demangle  # only Windows has a library that demangles Microsoft's names


def is_type(name: str) -> bool:
    """Return whether a symbol is the type information of a class, or the name in it."""
    return itanium.is_type(name) or microsoft.is_type(name)


def is_vtable(name: str) -> bool:
    """Return whether a symbol is the table of virtual functions of a class."""
    return itanium.is_vtable(name) or microsoft.is_vtable(name)


def is_guard(name: str) -> bool:
    """Return whether a symbol is the guard of a dynamically initialised variable."""
    return itanium.is_guard(name) or microsoft.is_guard(name)


def is_standard(name: str) -> bool:
    """Return whether a name of type information or of a vtable belongs to a class of the C++ library."""
    is_microsofts = name.startswith(microsoft.START)
    return microsoft.is_standard(name) if is_microsofts else itanium.is_standard(name)


def is_destructor(name: str) -> bool:
    """Return whether a function is a destructor, whose address only compilers can take."""
    return itanium.is_destructor(name) or microsoft.is_destructor(name)


def initialised_variables(names: Collection[str]) -> Iterator[str]:
    """Yield the dynamically initialised variables among the symbols of an object, and their guards."""
    return chain(itanium.initialised_variables(names), microsoft.initialised_variables(names))
