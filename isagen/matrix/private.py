"""Words of a build without the paths of the builder's machine, which tell its users' names, for what is published."""

from __future__ import annotations

import re
from functools import cache

PATH = "PATH"
# An absolute path of two names or more, alone or after an option that takes one: /arch:AVX2 and -Isrc/x are none.
WORD = re.compile(
    r"(?P<option>-(?:I|L|B|F|isystem|iquote|idirafter|include|imacros)|[^/\\]*[=:,'\"(])?"
    r"(?:[/\\]{1,2}[^/\\]+[/\\].*?|[A-Za-z]:[/\\].*?)(?P<end>[:,;.'\")]*)\Z",
    re.DOTALL,
)


@cache
def without_paths(text: str) -> str:
    """Return a text with absolute paths taken out of its words."""
    return re.sub(r"\S+", lambda word: _word(word[0]), text)


@cache  # a plan of a thousand kernels repeats a few command lines
def words_without_paths(words: tuple[str, ...]) -> tuple[str, ...]:
    """Return the words of a command line with absolute paths taken out."""
    return tuple(_word(word) for word in words)


def _word(word: str) -> str:
    found = WORD.match(word)
    return f"{found['option'] or ''}{PATH}{found['end']}" if found else word
