"""The macros that a compiler predefines without any level's flags: every configuring asks for them first."""

from __future__ import annotations

from functools import cache

from ..model.errors import CompilerError
from .compiler import Compiler, first_error


@cache
def bare_macros(compiler: Compiler) -> frozenset[str]:
    """Return the macros that the compiler predefines under the project's own arguments; none where it lists none."""
    if compiler.dialect == "msvc":
        return frozenset()
    macros, outcome = compiler.macros(())
    if compiler.language == "fortran" and not (outcome.ok and compiler.id == "gcc"):
        return frozenset()
    if not outcome.ok and not compiler.known:
        return frozenset()
    if not outcome.ok:
        raise CompilerError(
            f"{compiler.name} cannot preprocess an empty file: {first_error(outcome.err)}",
            where=f"{compiler.language} compiler",
            remedy="check the project's compiler arguments: " + " ".join(compiler.args),
        )
    return frozenset(macros)
