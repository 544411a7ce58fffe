"""Writing files: whole or not at all, and not at all when nothing changed."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path


def write_if_changed(path: Path, content: bytes | str) -> bool:
    """Write `content` to `path` atomically; return whether the file changed.

    An unchanged file keeps its time stamp, so that ninja sees nothing to do.
    """
    data = content.encode() if isinstance(content, str) else content
    try:
        if path.read_bytes() == data:
            return False
    except OSError:
        pass
    write_atomically(path, data)
    return True


def write_atomically(path: Path, data: bytes) -> None:
    """Write `data` to `path` so that a reader sees the old file or the new one, never a part."""
    path.parent.mkdir(parents=True, exist_ok=True)
    # Not tempfile: its files are private, and changing that asks for the umask, which threads cannot do safely.
    temporary = path.parent / f".{path.name}.{os.urandom(8).hex()}"
    handle = os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_BINARY", 0), 0o666)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
