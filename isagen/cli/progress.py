"""A line on the terminal that says what a command is at; nothing where the standard error is no terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from rich.status import Status

NARROWEST = 20  # columns that a name has at least


class Progress:
    """The line: where `status` is None, there is none."""

    def __init__(self, status: Status | None, columns: int, encoding: str) -> None:
        self._status = status
        self._columns = columns
        self._encoding = encoding

    def show(self, name: str, number: int, total: int) -> None:
        """Say which file is looked at, as one of how many; of an unknown number where that is 0."""
        if self._status is None:
            return
        from rich.text import Text

        count = f"{number} of {total}  " if total else ""
        shown = name.encode(self._encoding, errors="backslashreplace").decode(self._encoding)
        room = max(self._columns - len(count), NARROWEST)
        self._status.update(Text(count + (shown if len(shown) <= room else f"...{shown[3 - room :]}")))

    @contextmanager
    def hidden(self) -> Iterator[None]:
        """Take the line away while something else is printed."""
        if self._status is None:
            yield
            return
        self._status.stop()
        yield
        self._status.start()


@contextmanager
def progress() -> Iterator[Progress]:
    """Show progress on the standard error until the block is left."""
    from rich.console import Console

    console = Console(stderr=True, highlight=False)
    if not sys.stderr.isatty() or console.is_dumb_terminal:
        yield Progress(None, 0, "")
        return
    with console.status("", spinner="line") as status:  # of ASCII: a terminal may have no other letters
        yield Progress(status, console.width - 4, console.encoding)
