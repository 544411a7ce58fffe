"""The command line: one module for each command, and `main`, the one place that turns an error into an exit."""

import sys

# Checked before anything else is imported, in what Python 3.6 can read.
if sys.version_info < (3, 11):  # noqa: UP036
    _SAID = f"isagen: needs Python 3.11 or later, and this is Python {sys.version.split()[0]} ({sys.executable})"
    _REMEDY = "install a later Python, and isagen for it, and put it first on PATH"
    if "configure" in sys.argv[1:2]:  # Meson shows the answer of a command, not the messages of one that fails
        for _word in sys.argv:
            if _word.startswith("--depfile="):  # Meson reads it first
                open(_word.partition("=")[2], "w").close()
        sys.stdout.write(f"error={_SAID}: {_REMEDY}\n")
        sys.exit(0)
    sys.exit(f"{_SAID}\n  {_REMEDY}")

from .main import main as main
