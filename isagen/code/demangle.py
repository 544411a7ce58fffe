"""C++ names as people write them."""

from __future__ import annotations

from contextlib import suppress
from functools import cache
from typing import Any

from ..binary.private_names import without_tag

# The run-time libraries of C++ that know how: GNU's, LLVM's, FreeBSD's.
LIBRARIES = ("libstdc++.so.6", "libc++abi.so.1", "libcxxrt.so.1")


@cache
def _demangler() -> tuple[Any, Any] | None:
    """Return the libraries of C++ and of C, as `ctypes` loads them."""
    import ctypes  # most audits name no function

    for name in LIBRARIES:
        with suppress(OSError, AttributeError):
            library = ctypes.CDLL(name)
            library.__cxa_demangle.restype = ctypes.c_void_p
            return library, ctypes.CDLL(None)
    return None  # then names stay as the linker sees them


@cache
def demangle(symbol: str) -> str:
    """Return a symbol as C++ writes it, or unchanged (Itanium C++ ABI, ``__cxa_demangle``).

    The end of a name that is private to a level stays, the tag does not: reports tell the level besides.
    """
    found = _demangler()
    if found is None or not symbol.startswith("_Z"):
        return symbol
    import ctypes

    library, libc = found
    name, dot, suffix = without_tag(symbol).partition(".")  # GCC's clones: foo.avx2, foo.cold
    status = ctypes.c_int()
    text = library.__cxa_demangle(name.encode(errors="surrogateescape"), None, None, ctypes.byref(status))
    if not text:
        return symbol
    shown = ctypes.string_at(text).decode(errors="replace")
    libc.free(ctypes.c_void_p(text))
    return shown + dot + suffix
