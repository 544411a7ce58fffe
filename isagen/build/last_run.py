"""The memo of a step's last run: ninja repeats steps after each configuring, and after an edit of one of many sources.

Ninja runs a step again while an output is older than an input. A step that writes nothing therefore updates the
times of its outputs.
"""

from __future__ import annotations

import os
import pickle
import zlib
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..model.files import AnyPath, read_bytes, write_atomically

# The state of a file: size, mtime, ctime (nanoseconds) and inode. A file changed if it differs.
State = tuple[int, int, int, int]


def state_of(path: AnyPath) -> State:
    """Return the state of a file. Raises OSError if it is missing.

    Archives and caches restore a file's mtime, not its ctime.
    """
    state = os.stat(path)
    return state.st_size, state.st_mtime_ns, state.st_ctime_ns, state.st_ino


class LastRun:
    """The last run of a step with the arguments `words`: the files that it read and wrote, and its memo, `noted`."""

    def __init__(self, path: AnyPath, words: Sequence[str]) -> None:
        self._path = path
        self._words = list(words)
        self.noted: Any = None
        self.states: dict[str, State] = {}
        self._outputs: set[str] = set()
        self._changed: set[str] | None = None
        with suppress(Exception):  # whatever a file that is missing, damaged or of another form leads to
            found = pickle.loads(zlib.decompress(read_bytes(path)))  # which has a checksum
            self.states = {path: state_of(path) for path in found["files"]}
            self.noted, self._outputs = found["noted"], set(found["outputs"])
            if found["words"] == self._words:
                self._changed = {path for path, state in self.states.items() if state != found["files"][path]}

    def changed(self) -> set[str] | None:
        """Return the files of the last run that changed.

        Return None if a file is missing, or if the memo is missing, damaged or of other arguments.
        """
        return self._changed

    def refresh(self) -> None:
        """Update the times of the step's outputs, after a run that finds nothing changed, and record them."""
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

        `read` contains states from before files were read, as they may change meanwhile. `outputs` are those that ninja
        knows of.
        """
        with suppress(OSError):  # on a full disk, the next build runs the step again
            states = {os.fspath(path): state_of(path) for path in files} | dict(read or {})
            memo = {"words": self._words, "files": states, "noted": noted, "outputs": list(outputs)}
            write_atomically(self._path, zlib.compress(pickle.dumps(memo), 1))


def plan_files(plan: Path) -> list[Path]:
    """Return a plan and the answer beside it, which changes with isagen itself."""
    return [plan, plan.with_suffix(".conf")]
