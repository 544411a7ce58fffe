"""What a step keeps for its next run, in a file that only isagen reads: checked data, which loads without a parser."""

from __future__ import annotations

import marshal
import os
import sys
from zlib import crc32

TYPE_CHECKING = False  # as in typing
if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

# Other versions of Python may have another form of the same data.
HEAD = f"isagen {sys.implementation.cache_tag} {sys.hexversion:x} {marshal.version}\n".encode()
CHECK = 4  # bytes of the checksum


def read_kept(path: str | Path) -> Any:
    """Return the data of a file; None where it is missing, damaged, or of another version of Python.

    The checksum comes before `marshal`, which takes nothing that it did not write.
    """
    try:
        with open(path, "rb") as stream:
            content = stream.read()
        start = len(HEAD) + CHECK
        if content.startswith(HEAD) and content[len(HEAD) : start] == _check(content[start:]):
            return marshal.loads(content[start:])
    except (OSError, ValueError, EOFError, TypeError):
        pass
    return None


def write_kept(path: str | Path, data: Any) -> None:
    """Write data of Python's own types. Raises OSError where the file cannot be written.

    It is written in place, which takes less time than putting a new file there: a part of it is none.
    """
    content = marshal.dumps(data)
    handle = os.open(path, os.O_CREAT | os.O_WRONLY | getattr(os, "O_BINARY", 0), 0o666)
    with os.fdopen(handle, "wb") as stream:
        stream.write(HEAD + _check(content) + content)
        stream.truncate()


def _check(content: bytes) -> bytes:
    return crc32(content).to_bytes(CHECK, "little")
