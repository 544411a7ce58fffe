"""The languages of kernel sources, by suffix, which sources take isagen's macros, and which a copy can include."""

from __future__ import annotations

import posixpath

from .errors import KernelError

# Meson's name of the language whose compiler compiles a source, by suffix. The C compiler compiles assembly.
LANGUAGE_OF_SUFFIX = {
    ".c": "c",
    ".S": "c",
    ".C": "cpp",
    ".c++": "cpp",
    ".cc": "cpp",
    ".cpp": "cpp",
    ".cxx": "cpp",
    **dict.fromkeys((".f", ".for", ".ftn", ".f90", ".f95", ".f03", ".f08"), "fortran"),
    **dict.fromkeys((".F", ".FOR", ".FTN", ".fpp", ".FPP", ".F90", ".F95", ".F03", ".F08"), "fortran"),
}
LANGUAGES = {"c": "C", "cpp": "C++", "fortran": "Fortran"}


def language_of(source: str) -> str:
    """Return the Meson language of a kernel source, by its suffix. Raises `KernelError` for an unfit suffix."""
    suffix = posixpath.splitext(source)[1]
    if suffix == ".s":
        raise KernelError(
            "is assembly that is not preprocessed",
            where=source,
            remedy="rename it to end in .S: the C preprocessor then gives it the level's macros",
        )
    if suffix not in LANGUAGE_OF_SUFFIX:
        raise KernelError(
            "is not C, C++, Fortran or assembly",
            where=source,
            remedy=f"kernel sources end in {', '.join(sorted(LANGUAGE_OF_SUFFIX, key=str.casefold))}",
        )
    return LANGUAGE_OF_SUFFIX[suffix]


def takes_macros(source: str) -> bool:
    """Return whether a kernel source can use the macros of isa_dispatch.h: only C and C++ can."""
    return language_of(source) != "fortran" and not source.endswith(".S")


def can_be_included(source: str) -> bool:
    """Return whether a copy can include a kernel source; otherwise the copy contains the source's text.

    Meson searches the text of Fortran sources for modules. Quotes and trigraphs in the path of an `#include` cannot be
    escaped.
    """
    return language_of(source) != "fortran" and '"' not in source and "??" not in source
