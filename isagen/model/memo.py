"""Memos: plain data that a step writes for its next run, because it takes long to find out, with a checksum.

A memo contains the states of the files that it was made from; its reader decides whether it is stale. A memo that is
damaged, or of another Python version, reads as None.
"""

from __future__ import annotations

import marshal
import os
import sys
from binascii import crc32
from typing import Any

from .files import AnyPath

# The state of a file: size, mtime, ctime (nanoseconds) and inode. A file changed if it differs.
State = tuple[int, int, int, int]

# Raise the number when the same name of a file comes to hold data of another form.
HEAD = f"isagen 2 {sys.implementation.cache_tag} {sys.hexversion:x} {marshal.version}\n".encode()
CHECK = 4  # bytes of the checksum


def read_memo(path: AnyPath) -> Any:
    """Return the data of a file; None where it cannot be read, is damaged, or of another version of Python.

    `marshal` reads only content whose checksum matches: other bytes may crash it.
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


def write_memo(path: AnyPath, data: Any) -> None:
    """Write data of Python's own types; if that fails, the next run finds out again.

    The file is written in place, which is faster than replacing it. A half-written memo fails its checksum.
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
    """Return the state of a file. Raises OSError if it is missing.

    Archives and caches restore a file's mtime, not its ctime.
    """
    state = os.stat(path)
    return state.st_size, state.st_mtime_ns, state.st_ctime_ns, state.st_ino
