"""A line on the standard error that names the file or run in progress. It is shown only on a terminal."""

from __future__ import annotations

import sys
from typing import Self

from rich.console import Console
from rich.text import Text

NARROWEST = 20  # a name gets at least this number of columns, even if the line is then too long


class Progress:
    """The line: `show` writes it, and the end of the `with` block removes it."""

    def __init__(self) -> None:
        self._console = Console(stderr=True, highlight=False)
        self._status = self._console.status("", spinner="line")  # ASCII only: the terminal may have no other letters
        self._shown = sys.stderr.isatty() and not self._console.is_dumb_terminal

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *unused: object) -> None:
        self._status.stop()

    def show(self, name: str, number: int, total: int) -> None:
        """Show the name of a file or run, after "`number` of `total`" unless `total` is 0."""
        if self._shown:
            count = f"{number} of {total}  " if total else ""
            room = max(self._console.width - 4 - len(count), NARROWEST)
            self._status.update(Text(count + (name if len(name) <= room else f"...{name[3 - room :]}")))
            self._status.start()
