"""Writing what waits for the standard output."""

from __future__ import annotations

import os
import sys


def flush(text: str = "") -> None:
    """Write what waits for the standard output, and `text`, while the command may still choose its exit status.

    Where that fails, what waits goes nowhere.
    """
    stream = sys.stdout
    if stream is None:  # it is closed
        return
    try:
        stream.write(text)
        stream.flush()
    except OSError as problem:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        problem.filename = "standard output"
        raise
