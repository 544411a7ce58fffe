"""The record of a step's last run, which shows whether the step has anything to do.

Ninja runs a step again while an output is older than an input: after each configuring, and after an edit of one source
of many. A step that writes nothing therefore updates the times of its outputs.
"""

from __future__ import annotations

import os
import pickle
import zlib
from collections.abc import Collection, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..model.files import AnyPath, read_bytes, write_atomically

# The state of a file: size, mtime, ctime (nanoseconds) and inode. A file changed if its state differs.
State = tuple[int, int, int, int]


def state_of(path: AnyPath) -> State:
    """Return the state of a file. Raises OSError if it is missing.

    The state contains the ctime, because archives and caches restore a file's mtime.
    """
    status = os.stat(path)
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino


class LastRun:
    """The last run of a step, as its file at `path` records it.

    `changed` are the files that changed since then; None if a file is missing, or if the record is missing or damaged.
    `states` are the present states of the files, and `memo` is the value that the last run passed to `record`.
    """

    def __init__(self, path: AnyPath) -> None:
        self._path = path
        self._outputs: set[str] = set()
        self.memo: Any = None
        self.states: dict[str, State] = {}
        self.changed: set[str] | None = None
        with suppress(Exception):  # a damaged record, or one of another version, may raise any exception
            run = pickle.loads(zlib.decompress(read_bytes(path)))  # zlib verifies a checksum
            self.states = {path: state_of(path) for path in run["states"]}
            self.memo, self._outputs = run["memo"], set(run["outputs"])
            self.changed = {path for path, state in self.states.items() if state != run["states"][path]}

    def refresh(self) -> None:
        """Update the times of the outputs of a step that has nothing to do, and record their new states."""
        for path in self._outputs:
            os.utime(path)
        inputs = {path: state for path, state in self.states.items() if path not in self._outputs}
        self.record(self._outputs, self.memo, inputs)

    def record(self, outputs: Collection[str], memo: Any, inputs: Mapping[str, State]) -> None:
        """Record that the step ran, with the present states of `outputs`.

        `inputs` maps inputs to their states before the step read them: an input may change while the step runs.
        """
        with suppress(OSError):  # on a full disk, the next build runs the step again
            states = {path: state_of(path) for path in outputs} | dict(inputs)
            run = {"states": states, "memo": memo, "outputs": list(outputs)}
            write_atomically(self._path, zlib.compress(pickle.dumps(run), 1))


def plan_states(plan: Path) -> dict[str, State]:
    """Return the states of a plan's file and of the keyval file beside it. The keyval file changes if isagen does."""
    return {str(path): state_of(path) for path in (plan, plan.with_suffix(".conf")) if path.is_file()}
