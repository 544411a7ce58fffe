"""Asking compilers, while other work goes on, what every configuring asks them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from threading import Thread

from ..model.errors import IsagenError
from .bare import bare_macros
from .compiler import Compiler


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
