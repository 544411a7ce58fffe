"""What a build with Fortran kernels needs beside their compiler: its run-time library, and the compiler that links."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ..probe.compiler import Compiler

# The run-time library of each Fortran compiler, by Meson's name of it: targets that link kernels do not know of it.
RUNTIMES = {"gcc": "gfortran"}


def linking_compiler(compilers: Sequence[Compiler]) -> Compiler:
    """Return the compiler that links what the kernels go into: the last that is not Fortran's."""
    return [compiler for compiler in compilers if compiler.language != "fortran" or len(compilers) == 1][-1]


def libraries(compilers: Sequence[Compiler]) -> list[str]:
    """Return the run-time library of the Fortran compiler, and the folder where it says that it is."""
    for compiler in compilers:
        name = RUNTIMES.get(compiler.id, "") if compiler.language == "fortran" else ""
        if name:
            path = Path(compiler.run([f"-print-file-name=lib{name}.so"]).out.strip())
            return [name, path.parent.as_posix()] if path.is_absolute() else [name]
    return []
