"""`isagen configure`: the command that the Meson fragment runs."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from ..model.errors import IsagenError, reported
from ..model.files import write_if_changed
from .answer import keyval_text
from .configure import configure
from .request import Arguments, read_arguments, request_of


def answer_fragment(words: Iterable[str]) -> int:
    """Configure with the fragment's arguments `words`, and write the answer to the standard output.

    An error is an answer too: Meson hides the output of a failing command, but shows the text that the fragment passes
    to error().
    """
    sys.stdout.reconfigure(encoding="utf-8", errors="surrogateescape")  # type: ignore[union-attr]
    arguments = read_arguments(words)
    try:
        text, inputs = configure(request_of(arguments))
        _write_depfile(arguments, inputs)
    except (IsagenError, OSError) as problem:
        with suppress(OSError):
            _write_depfile(arguments, [Path(arguments.once["config"])] if "config" in arguments.once else [])
        text = keyval_text({"error": f"isagen: {reported(problem)}"})
    sys.stdout.write(text)
    return 0


def _write_depfile(arguments: Arguments, inputs: Iterable[Path]) -> None:
    """Write the depfile: ninja configures again if one of the `inputs` changes."""
    if "depfile" in arguments.once:
        depfile = Path(arguments.once["depfile"])
        names = " ".join(path.as_posix().replace("$", "$$").replace(" ", "\\ ") for path in inputs)
        write_if_changed(depfile, f"{depfile.stem}.conf: {names}\n")
