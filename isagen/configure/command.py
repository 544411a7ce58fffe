"""`isagen configure`: answers the Meson fragment on the standard output, in a keyval file."""

from __future__ import annotations

import sys

from .again import LastAnswer

TYPE_CHECKING = False  # as in typing
if TYPE_CHECKING:
    from collections.abc import Iterable


def answer_fragment(words: Iterable[str]) -> int:
    """Answer the fragment, whose arguments are `words`: as the last time, if nothing changed since."""
    sys.stdout.reconfigure(encoding="utf-8", errors="surrogateescape")  # type: ignore[union-attr]
    words = list(words)
    last = LastAnswer(words)
    text = last.again()
    if text is None:
        from .fragment import found_answer  # loads all that configures

        text = found_answer(words, last)
    sys.stdout.write(text)
    return 0
