"""What a step keeps for its next run, because it takes long to find out: plain data, with a check of its bytes.

What is kept is the reader's to judge: it says what it was made from. A file that is damaged, or written by another
Python, holds nothing.
"""

from __future__ import annotations

import marshal
import os
import sys
from binascii import crc32
from typing import Any

from .files import AnyPath

# What tells that a file is another: size, times (nanoseconds) and number.
State = tuple[int, int, int, int]

# Raise the number when the same name of a file comes to hold data of another form.
HEAD = f"isagen 2 {sys.implementation.cache_tag} {sys.hexversion:x} {marshal.version}\n".encode()
CHECK = 4  # bytes of the checksum


def read_kept(path: AnyPath) -> Any:
    """Return the data of a file; None where it cannot be read, is damaged, or of another version of Python.

    The checksum comes before `marshal`, which takes nothing that it did not write.
    """
    try:
        with open(path, "rb") as stream:
            raw = stream.read()
        head, content = raw[: len(HEAD) + CHECK], memoryview(raw)[len(HEAD) + CHECK :]
        if head == HEAD + _check(content):
            return marshal.loads(content)
    except (OSError, ValueError, EOFError, TypeError):
        pass
    return None


def write_kept(path: AnyPath, data: Any) -> None:
    """Write data of Python's own types; where there is no room for it, the next run finds out again.

    It is written in place, which takes less time than putting a new file there: a part of it is none.
    """
    content = marshal.dumps(data)
    try:
        handle = os.open(path, os.O_CREAT | os.O_WRONLY | getattr(os, "O_BINARY", 0), 0o666)
        with os.fdopen(handle, "wb") as stream:
            stream.write(HEAD + _check(content) + content)
            stream.truncate()
    except OSError:
        pass


def _check(content: bytes | memoryview) -> bytes:
    return crc32(content).to_bytes(CHECK, "little")


def state_of(path: AnyPath) -> State:
    """Return what tells that a file is another. Raises OSError if it is missing.

    Archives and caches restore the time of a change to the content, but not that of a change to the file.
    """
    state = os.stat(path)
    return state.st_size, state.st_mtime_ns, state.st_ctime_ns, state.st_ino
