"""What a step found and left: ninja runs steps again after each configuring, and after an edit of one of many sources.

Ninja takes an output that is older than an input for a reason, although the step has run since, and left it as it was.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..model.kept import State, read_kept, state_of, write_kept


class Record:
    """The record of a step's last run with the arguments `words`: what it read and wrote, and what it noted besides."""

    def __init__(self, path: str | Path, words: Sequence[str]) -> None:
        self._path = path
        self._words = list(words)
        self.noted: Any = None
        self.states: dict[str, State] = {}
        self._outputs: set[str] = set()
        self._changed: set[str] | None = None
        self._is_read = False

    def changed(self) -> set[str] | None:
        """Return which of the files of the last run changed; None where that is not known, or a file is missing.

        A record that somebody changed is none.
        """
        if not self._is_read:
            self._is_read = True
            kept = read_kept(self._path)
            try:
                self.states = {path: state_of(path) for path in kept["files"]}
                self.noted, self._outputs = kept["noted"], set(kept["outputs"])
                if kept["words"] == self._words:
                    self._changed = {path for path, state in self.states.items() if state != kept["files"][path]}
            except (OSError, ValueError, TypeError, KeyError, AttributeError):
                pass
        return self._changed

    def refresh(self) -> None:
        """Give the step's outputs the time of this run, which finds nothing changed, and record that.

        Ninja takes an output that is older than an input for a reason to run the step, after each configuring.
        """
        outputs = self._outputs
        for path in outputs:
            os.utime(path)
        read = {path: state for path, state in self.states.items() if path not in outputs}
        self.note(outputs, self.noted, read, outputs)

    def note(
        self,
        files: Iterable[str | Path],
        noted: Any = None,
        read: Mapping[str, State] | None = None,
        outputs: Iterable[str] = (),
    ) -> None:
        """Record that the step has run, and the states of the `files` that it read and wrote.

        Files that may change meanwhile have the state in `read`, from before they were read. The `outputs` are those
        that ninja knows of.
        """
        try:
            states = {os.fspath(path): state_of(path) for path in files} | dict(read or {})
            write_kept(self._path, {"words": self._words, "files": states, "noted": noted, "outputs": list(outputs)})
        except OSError:
            pass  # on a full disk, the next build runs the step again


def plan_files(plan: Path) -> list[Path]:
    """Return a plan, and the answers to the fragment beside it, which change with isagen itself."""
    return [plan, *plan.parent.glob(f"{plan.stem.replace('isa_plan', 'isa_plan*', 1)}.conf")]
