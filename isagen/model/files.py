"""Reads files, and writes them atomically."""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping
from contextlib import suppress
from hashlib import blake2b
from mmap import ACCESS_READ, mmap
from pathlib import Path

AnyPath = str | Path

# The OS's errors if a file cannot grow: the disk is full, or the user or the process is at a limit.
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def read_bytes(path: AnyPath) -> bytes:
    """Return the content of a file. Raises OSError."""
    with open(path, "rb", 0) as stream:
        return stream.read()


def mapped(path: AnyPath) -> bytes | mmap:
    """Map a file into memory, and return its content. Raises OSError."""
    with open(path, "rb") as stream:
        return mmap(stream.fileno(), 0, access=ACCESS_READ) if os.fstat(stream.fileno()).st_size else b""


def content_digest(content: bytes | mmap) -> str:
    """Return a digest by which two contents can be compared."""
    return blake2b(content, digest_size=16).hexdigest()


def write_if_changed(path: AnyPath, content: bytes | str, mode: int = 0o666) -> bool:
    """Write `content` to `path` atomically; return whether the file changed.

    An unchanged file keeps its time stamp, so that ninja sees nothing to do. Text is written as UTF-8. Surrogates, by
    which Python represents bytes that are not UTF-8 (PEP 383), are written as these bytes.
    """
    data = content.encode(errors="surrogateescape") if isinstance(content, str) else content
    with suppress(OSError):
        if read_bytes(path) == data:
            return False
    write_atomically(path, data, mode)
    return True


def write_atomically(path: AnyPath, data: bytes, mode: int = 0o666) -> None:
    """Write `data` to `path` so that a reader sees the old file or the new one, never a part.

    The umask reduces the permissions `mode`. An OSError names `path`, not the temporary file.
    """
    folder, name = os.path.split(os.fspath(path))
    temporary = os.path.join(folder, f".{name}.{os.urandom(8).hex()}")
    try:
        # `tempfile` is not used: only the owner can read the files that it creates. To set `mode` afterwards would need
        # the umask, and a process can read its umask only by changing it, which affects other threads.
        flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_BINARY", 0)
        try:
            handle = os.open(temporary, flags, mode)
        except FileNotFoundError:
            os.makedirs(folder or ".", exist_ok=True)
            handle = os.open(temporary, flags, mode)
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
        os.replace(temporary, path)
    except BaseException as problem:
        with suppress(OSError):
            os.unlink(temporary)
        if isinstance(problem, OSError):
            problem.filename, problem.filename2 = str(path), None
        raise


def replace_files(texts: Mapping[str, str], folder: Path) -> None:
    """Write `texts`, by path in `folder`, and remove other files there: a compiler could find a stale header first."""
    for path in [path for path in folder.rglob("*") if path.is_file()]:
        if path.relative_to(folder).as_posix() not in texts:
            path.unlink()
    for name, text in texts.items():
        write_if_changed(folder / name, text)
