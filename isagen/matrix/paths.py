"""Removes paths of the build machine from texts for publication: such paths may contain names of users."""

from __future__ import annotations

import re

PATH = "PATH"
# Options after which a path may follow without a space.
OPTION = (
    r"(?<![\w./\\-])-(?:[A-Za-z]|M[FJQT]|(?:cxx-)?isystem|iquote|idirafter|include|imacros|isysroot|iprefix|iframework"
    r"|iwithprefix|iwithprefixbefore)"
)
# A slash after one of these characters starts no absolute path, unless an option ends there.
PART = r"(?<![\w.+~$%*)}/\\-])"
# The start of an absolute path of at least two names, or of a path in a home folder; not /arch:AVX2 or -Isrc/x.
START = r"(?:[/\\]+[^/\\\s]+[^/\\]*[/\\]|~[\w.-]*[/\\])"
WORD = re.compile(
    rf"(?P<before>.*?(?:{OPTION}|{PART})){START}.*?(?P<end>[:,;.'\"`\u2019\u201d)\]}}>]*)\Z",
    re.DOTALL,
)
# An address on the web, which a verdict's reason may cite: it contains no path of the machine.
ADDRESS = re.compile(r"[(\[<'\"]?https?://")
# A path in quotes or brackets may contain spaces: it ends before the next one of the characters `CLOSING`.
CLOSING = "'\"`\u2019\u201d)\\]}>"
QUOTED = re.compile(rf"(?P<open>['\"`\u2018\u201c(\[{{<](?:(?!https?:)\w+:)?){START}[^\n{CLOSING}]*(?=[{CLOSING}])")


def without_paths(text: str) -> str:
    """Return a text in which `PATH` replaces paths that begin as `START` says, but not addresses on the web."""
    if "/" not in text and "\\" not in text and "~" not in text:
        return text
    text = QUOTED.sub(rf"\g<open>{PATH}", text)
    return re.sub(r"\S+", lambda word: word[0] if ADDRESS.match(word[0]) else word_without_path(word[0]), text)


def word_without_path(word: str) -> str:
    """Return a word of a command line with `PATH` in place of an absolute path. Both may contain spaces."""
    return WORD.sub(rf"\g<before>{PATH}\g<end>", word)
