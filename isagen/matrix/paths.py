"""Texts of a build for publication: without the paths of the builder's machine, which contain names of users."""

from __future__ import annotations

import re
from functools import cache

PATH = "PATH"
# Options that their path follows directly. Behind one of the characters of PART, a slash is inside a relative path.
OPTION = (
    r"(?<![\w./\\-])-(?:[A-Za-z]|M[FJQT]|(?:cxx-)?isystem|iquote|idirafter|include|imacros|isysroot|iprefix|iframework"
    r"|iwithprefix|iwithprefixbefore)"
)
PART = r"(?<![\w.+~$%*)}/\\-])"
# An absolute path of two names or more, or one below a user's home: /arch:AVX2 and -Isrc/x are none.
START = r"(?:[/\\]+[^/\\\s]+[^/\\]*[/\\]|~[\w.-]*[/\\])"
WORD = re.compile(
    rf"(?P<before>.*?(?:{OPTION}|{PART})){START}.*?(?P<end>[:,;.'\"`\u2019\u201d)\]}}>]*)\Z",
    re.DOTALL,
)
# A path in quotes or brackets, which may have spaces.
CLOSING = "'\"`\u2019\u201d)\\]}>"
QUOTED = re.compile(rf"(?P<open>['\"`\u2018\u201c(\[{{<](?:\w+:)?){START}[^\n{CLOSING}]*(?=[{CLOSING}])")


@cache  # a plan of a thousand kernels repeats a few texts
def without_paths(text: str) -> str:
    """Return a text with absolute paths taken out of its words."""
    text = QUOTED.sub(rf"\g<open>{PATH}", text)
    return re.sub(r"\S+", lambda word: word_without_path(word[0]), text)


@cache
def word_without_path(word: str) -> str:
    """Return a word of a command line, which may have spaces, with an absolute path taken out."""
    found = WORD.match(word)
    return f"{found['before']}{PATH}{found['end']}" if found else word
