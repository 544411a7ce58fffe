"""Steps that find all as they left it: ninja runs those with unchanged outputs again after each configuring.

It takes an output that is older than an input for a reason, although the step has run since, and left it as it was.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..model.files import write_atomically


def is_done(record: Path, words: Sequence[str]) -> bool:
    """Return whether a step with these arguments has nothing to do, by the `record` of its last run."""
    try:
        kept: Any = json.loads(record.read_text(encoding="utf-8"))
        return bool(kept["words"] == list(words) and kept["files"] == _states(kept["files"]))
    except (OSError, ValueError, TypeError, KeyError):
        return False


def note_done(record: Path, words: Sequence[str], plan: Path, files: Iterable[Path]) -> None:
    """Record that a step of a `plan` has run, and the sizes and times of the `files` that it read and wrote.

    The answer to the fragment, beside the plan, changes with isagen itself.
    """
    answers = plan.parent.glob(f"{plan.stem.replace('isa_plan', 'isa_plan*', 1)}.conf")
    with suppress(OSError):  # on a full disk, the next build runs the step again
        states = _states(map(os.fspath, (plan, *answers, *files)))
        write_atomically(record, json.dumps({"words": list(words), "files": states}).encode())


def _states(paths: Iterable[str]) -> dict[str, list[int]]:
    """Return size and time (nanoseconds) of each file. Raises OSError where one is missing."""
    found = {}
    for path in paths:
        state = os.stat(path)
        found[path] = [state.st_size, state.st_mtime_ns]
    return found
