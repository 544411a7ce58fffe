"""Running the linker: it starts first, so that the modules of the audit are imported while it works."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import suppress

from ..model.errors import BuildError

# Options with which linkers print a text and do not link.
PRINT_ONLY = {"--version", "--help"}


class Linking:
    """One link, which starts at once. `words` are the arguments, each response file replaced by the arguments in it.

    Raises `BuildError` if a response file cannot be read, or if the linker cannot be run.
    """

    def __init__(self, linker: str, arguments: Sequence[str]) -> None:
        self.linker = linker
        try:
            self.words = tuple(expanded(arguments))
        except (OSError, ValueError) as problem:
            raise BuildError(
                f"its arguments cannot be read: {problem}",
                where=linker,
                remedy="check the quotes in the project's link arguments",
            ) from None
        self.output = output_of(self.words)
        try:
            self.process = subprocess.Popen([linker, *arguments])
        except OSError as problem:
            raise BuildError(
                f"cannot be run: {problem.strerror}",
                where=linker,
                remedy="configure the build folder again: meson setup --reconfigure BUILD_DIR",
            ) from None

    def discard(self) -> None:
        """Wait for the linker, and remove its output, so that the next build links again."""
        self.process.wait()
        if self.output is not None:
            discard(self.output)


def discard(output: str) -> None:
    """Remove a linked file, unless it is a device."""
    with suppress(OSError):
        if os.path.isfile(output):
            os.unlink(output)


def expanded(arguments: Sequence[str]) -> Iterator[str]:
    """Yield a linker's arguments, each response file replaced by the arguments in it. Raises OSError and ValueError."""
    for word in arguments:
        if word.startswith("@") and os.path.isfile(word[1:]):
            with open(word[1:], encoding="utf-8", errors="surrogateescape") as stream:
                text = stream.read()
            yield from expanded(split_words(text))
        else:
            yield word


def split_words(text: str) -> list[str]:
    """Return the words of a command, as `shlex.split` does. Raises ValueError where a quote is not closed."""
    if any(character in text for character in "'\"\\"):
        return shlex.split(text)
    return re.findall("[^ \t\r\n]+", text)  # 200 times as fast, for links of thousands of objects


def output_of(words: Sequence[str]) -> str | None:
    """Return the path of the file that a linker writes with these arguments; None if it writes none."""
    if PRINT_ONLY.intersection(words):
        return None
    output = "a.out"
    for number, word in enumerate(words):
        if word in ("-o", "--output") and number + 1 < len(words):
            output = words[number + 1]
        elif word.startswith("--output="):
            output = word.removeprefix("--output=")
        elif word.startswith("-o") and len(word) > 2:
            output = word[2:]
    return output
