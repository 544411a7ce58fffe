"""Runs the command that the arguments name. An error that stops a command becomes a message and an exit status here.

The parser itself exits if arguments are wrong, and `isagen audit` reports each file that it cannot read, and
goes on with the next.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from ..model.errors import IsagenError, reported
from .output import flush, wrapped

# The command that the Meson fragment calls; help and messages do not name it.
FOR_MESON = "configure"
CANNOT = 2  # the exit status of a command that cannot do its work; 1 means that the command worked, and found something


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command that `arguments` (default: the process's own) name; return the exit status."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        try:
            if words[:1] == [FOR_MESON]:
                from ..configure.configure import answer_fragment  # no other command is imported: Meson waits

                return answer_fragment(words[1:])
            from .commands import run_command

            return run_command(words)
        finally:
            flush()
    except BrokenPipeError:
        return 1
    except (IsagenError, OSError) as problem:
        error = reported(problem)
        text = wrapped(f"isagen: error: {error}".split("\n"), code="    ", stream=sys.stderr)
        print(text, end="", file=sys.stderr)
        return error.exit_code if words[:1] == [FOR_MESON] else CANNOT
    except KeyboardInterrupt:
        return 130
