"""Commands of isagen whose standard error is a terminal."""

import os
import pty
import subprocess
import sys


def on_terminal(*arguments, **environment) -> tuple[int, str, str]:
    """Run isagen with a terminal as its standard error; return its status, its output, and the terminal's."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "isagen", *map(str, arguments)]
    everything = {**os.environ, "TERM": "xterm", "COLUMNS": "60", **environment}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=theirs, env=everything) as process:
        os.close(theirs)
        shown = b""
        while True:
            try:
                more = os.read(ours, 4096)
            except OSError:  # the terminal is closed
                break
            if not more:
                break
            shown += more
        output = process.stdout.read()
    os.close(ours)
    return process.returncode, output.decode(), shown.decode()
