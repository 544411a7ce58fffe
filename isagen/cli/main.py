"""Calls one command, writes what it left waiting, and is the one place that turns an error into an exit."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from ..model.errors import IsagenError, reported

# The command that the Meson fragment calls: people are not told of it.
FOR_MESON = "configure"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command that `arguments` (default: the process's own) name; return the exit status."""
    try:
        try:
            return _run(arguments)
        finally:
            flush()
    except BrokenPipeError:
        return 1
    except (IsagenError, OSError) as problem:
        error = reported(problem)
        print(f"isagen: error: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        return 130


def _run(arguments: Sequence[str] | None) -> int:
    words = list(sys.argv[1:] if arguments is None else arguments)
    if words[:1] == [FOR_MESON]:
        from ..configure.fragment import answer_fragment  # Meson waits for it, and it needs nothing of the others

        return answer_fragment(words[1:])
    from .commands import run_command

    return run_command(words)


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
