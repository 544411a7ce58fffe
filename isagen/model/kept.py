"""What a step keeps for its next run, because it takes long to find out: plain data, with a check of its bytes.

What is kept is the reader's to judge: it says what it was made from. A file that is damaged, or written by another
Python, holds nothing.
"""

from __future__ import annotations

import marshal
import os
import sys
from binascii import crc32

from .files import write_atomically

TYPE_CHECKING = False  # as in typing
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

State = list[int]

FORMAT = f"isagen 1 {sys.implementation.cache_tag} {sys.hexversion:x} {marshal.version}\n".encode()
CHECK = 4  # bytes


def load_kept(path: str) -> Any:
    """Return what the file at `path` holds; None where it cannot be read."""
    try:
        with open(path, "rb") as stream:
            raw = stream.read()
    except OSError:
        return None
    head, content = raw[: len(FORMAT) + CHECK], memoryview(raw)[len(FORMAT) + CHECK :]
    if head != FORMAT + crc32(content).to_bytes(CHECK, "little"):
        return None
    return marshal.loads(content)


def save_kept(path: str, value: Any) -> None:
    """Write `value` to the file at `path`; on a full disk, the next run finds out again."""
    content = marshal.dumps(value)
    try:  # noqa: SIM105  contextlib takes longer to load than a step that has nothing to do runs
        write_atomically(path, FORMAT + crc32(content).to_bytes(CHECK, "little") + content)
    except OSError:
        pass


def states_of(paths: Iterable[str]) -> dict[str, State]:
    """Return what tells that files are others: size, times (nanoseconds) and number. Raises OSError as `os.stat`."""
    return {path: state_of(os.stat(path)) for path in paths}


def state_of(found: os.stat_result) -> State:
    """Return what tells that a file is another.

    Archives and caches restore the time of a change to the content, but not that of a change to the file.
    """
    return [found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino]


def are_unchanged(states: dict[str, State]) -> bool:
    """Return whether files are those that had the `states`."""
    try:
        return all(state_of(os.stat(path)) == state for path, state in states.items())
    except OSError:
        return False
