"""Running the linker: it starts before all else, and what the audit needs is loaded while it works."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from ..model.command_words import split_words
from ..model.errors import BuildError

# Options with which linkers print something and link nothing; with -v and -V they print their version, and link.
ANSWERS = {"--version", "--help"}


class Linking:
    """A link; `words` are the linker's arguments with those of response files in their place.

    Raises `BuildError` where a response file cannot be read.
    """

    def __init__(self, linker: str, arguments: Sequence[str]) -> None:
        self.linker = linker
        self._arguments = arguments
        try:
            self.words = tuple(expanded(arguments))
        except (OSError, ValueError) as problem:
            raise BuildError(
                f"its arguments cannot be read: {problem}",
                where=linker,
                remedy="check the quotes in the project's link arguments",
            ) from None
        self.output = output_of(self.words)
        self._started = False
        self._process = 0
        self._status: int | None = None

    def start(self) -> None:
        """Start the linker. Raises `BuildError` where it cannot be run."""
        import _signal  # type: ignore[import-not-found]  # what `signal` makes enumerations of, which takes longer

        words = [self.linker, *self._arguments]
        self._started = True
        try:  # Python ignores these signals, and a program inherits that
            signals = [_signal.SIGPIPE, _signal.SIGXFSZ]
            self._process = os.posix_spawn(self.linker, words, os.environ, setsigdef=signals)
        except OSError as problem:
            self._started = False
            raise BuildError(
                f"cannot be run: {problem.strerror}",
                where=self.linker,
                remedy="configure the build folder again: meson setup --reconfigure BUILD_DIR",
            ) from None

    def wait(self) -> int:
        """Return the exit status, or the negative number of the signal that ended the linker."""
        if self._status is None:  # interrupted before its process number is known: it is the only child
            self._status = os.waitstatus_to_exitcode(os.waitpid(self._process or -1, 0)[1])
        return self._status

    def discard(self) -> None:
        """Remove the output, whose audit did not finish: the next build links again."""
        if not self._started:
            return
        from contextlib import suppress  # most links are not discarded

        with suppress(ChildProcessError):
            self.wait()
        if self.output is not None:
            discard(self.output)


def discard(output: str) -> None:
    """Remove a linked file, unless it is a device."""
    from contextlib import suppress

    with suppress(OSError):
        if os.path.isfile(output):
            os.unlink(output)


def expanded(arguments: Sequence[str]) -> Iterator[str]:
    """Yield a linker's arguments, with those in response files in their place. Raises OSError and ValueError."""
    for word in arguments:
        if word.startswith("@") and os.path.isfile(word[1:]):
            with open(word[1:], encoding="utf-8", errors="surrogateescape") as stream:
                text = stream.read()
            yield from expanded(split_words(text))
        else:
            yield word


def output_of(words: Sequence[str]) -> str | None:
    """Return what a linker makes with these arguments; None where it makes nothing."""
    if ANSWERS.intersection(words):
        return None
    output = "a.out"
    for number, word in enumerate(words):
        if word in ("-o", "--output") and number + 1 < len(words):
            output = words[number + 1]
        elif word.startswith("--output="):
            output = word.removeprefix("--output=")
        elif word.startswith("-o") and len(word) > 2 and not word.startswith("-ob"):
            output = word[2:]
    return output
