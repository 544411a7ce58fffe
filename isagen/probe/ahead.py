"""What every configuring asks the compilers first, while other work goes on: their identities and their macros."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from threading import Thread

from ..model.errors import CompilerError, IsagenError
from .compiler import Compiler, first_error


@contextmanager
def asked_ahead(compilers: Sequence[Compiler]) -> Iterator[None]:
    """Let the compilers answer beside what the block does; who asks them later finds the answers there.

    An error is left to who asks.
    """
    threads = [
        Thread(target=ask, args=(compiler,), daemon=True)
        for compiler in compilers
        if compiler.known
        for ask in (_ask_macros, _ask_identity)
    ]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        for thread in threads:
            thread.join()


def _ask_macros(compiler: Compiler) -> None:
    with suppress(IsagenError, OSError):
        bare_macros(compiler)


def _ask_identity(compiler: Compiler) -> None:
    with suppress(IsagenError, OSError):
        compiler.identity  # noqa: B018  the answer is kept


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
