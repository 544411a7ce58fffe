"""The words of a command line: commands of thousands of objects are split faster than `shlex` does."""

from __future__ import annotations

# A text with one of these is more than words between blanks.
QUOTING = ("'", '"', "\\")


def split_words(text: str) -> list[str]:
    """Return the words of a command, as a POSIX shell and `shlex.split` read it. Raises ValueError as that does.

    Words end at a shell's blanks alone: `str.split` ends them at others, such as U+00A0.
    """
    if any(character in text for character in QUOTING):
        import shlex

        return shlex.split(text)
    for blank in "\t\r\n":
        text = text.replace(blank, " ")
    return [word for word in text.split(" ") if word]
