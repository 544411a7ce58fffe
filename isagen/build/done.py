"""What a step found and left: ninja runs steps again after each configuring, and after an edit of one of many sources.

Ninja takes an output that is older than an input for a reason, although the step has run since, and left it as it was.
"""

from __future__ import annotations

import os

from ..model.files import write_atomically
from ..model.read_json import read_json

TYPE_CHECKING = False  # as in typing, which takes longer to load than a step that has nothing to do runs
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path
    from typing import Any

State = list[int]


class Record:
    """The record of a step's last run with the arguments `words`: what it read and wrote, and what it noted besides."""

    def __init__(self, path: str | Path, words: Sequence[str]) -> None:
        self._path = path
        self._words = list(words)
        self.noted: Any = None
        self.states: dict[str, State] = {}

    def changed(self) -> set[str] | None:
        """Return which of the files of the last run changed; None where that is not known, or a file is missing."""
        try:
            with open(self._path, encoding="utf-8") as stream:
                kept = read_json(stream.read())
            self.states = {path: state_of(path) for path in kept["files"]}
            self.noted = kept["noted"]
            if kept["words"] == self._words:
                return {path for path, state in self.states.items() if state != kept["files"][path]}
        except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
            pass
        return None

    def note(self, files: Iterable[str | Path], noted: Any = None, read: Mapping[str, State] | None = None) -> None:
        """Record that the step has run, and the states of the `files` that it read and wrote.

        Files that may change meanwhile have the state in `read`, from before they were read.
        """
        import json  # not where a step has nothing to do

        try:
            states = {os.fspath(path): state_of(path) for path in files} | dict(read or {})
            data = {"words": self._words, "files": states, "noted": noted}
            write_atomically(self._path, json.dumps(data).encode())
        except OSError:
            pass  # on a full disk, the next build runs the step again


def state_of(path: str | Path) -> State:
    """Return what tells that a file is another: size, times (nanoseconds) and number. Raises OSError if it is missing.

    Archives and caches restore the time of a change to the content, but not that of a change to the file.
    """
    state = os.stat(path)
    return [state.st_size, state.st_mtime_ns, state.st_ctime_ns, state.st_ino]


def plan_files(plan: Path) -> list[Path]:
    """Return a plan, and the answers to the fragment beside it, which change with isagen itself."""
    return [plan, *plan.parent.glob(f"{plan.stem.replace('isa_plan', 'isa_plan*', 1)}.conf")]
