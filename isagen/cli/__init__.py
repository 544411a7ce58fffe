"""The command line: modules of commands, and `main`, the one place that turns an error into an exit."""

import sys

# This check runs before any other import, and is written for Python 3.6.
if sys.version_info < (3, 11):  # noqa: UP036
    _MESSAGE = f"isagen: needs Python 3.11 or later, and this is Python {sys.version.split()[0]} ({sys.executable})"
    _REMEDY = "install a later Python, and isagen for it, and put it first on PATH"
    if "configure" in sys.argv[1:2]:  # Meson shows the output of a command only if it succeeds
        for _word in sys.argv:
            if _word.startswith("--depfile="):  # Meson reads this file first
                open(_word.partition("=")[2], "w").close()
        sys.stdout.write(f"error={_MESSAGE}: {_REMEDY}\n")
        sys.exit(0)
    sys.exit(f"{_MESSAGE}\n  {_REMEDY}")

from .main import main as main
