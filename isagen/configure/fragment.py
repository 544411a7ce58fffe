"""`isagen configure`: answers the Meson fragment."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from ..model.errors import IsagenError, reported
from ..model.files import write_if_changed
from .configure import configure
from .keyval import write_keyval
from .request import Arguments, read_arguments, request_of


def answer_fragment(words: Iterable[str]) -> int:
    """Configure by the fragment's arguments, `words`, and write the answer to the standard output.

    An error is an answer too: Meson hides the output of a failing command, and shows what the fragment passes to
    error().
    """
    sys.stdout.reconfigure(encoding="utf-8", errors="surrogateescape")  # type: ignore[union-attr]
    arguments = read_arguments(words)
    try:
        text, inputs = configure(request_of(arguments))
        _write_depfile(arguments, inputs)
    except (IsagenError, OSError) as problem:  # of the OS: a folder that cannot be written, a full disk
        with suppress(OSError):
            _write_depfile(arguments, [Path(arguments.once["config"])] if "config" in arguments.once else [])
        text = write_keyval({"error": f"isagen: {reported(problem)}"})
    sys.stdout.write(text)
    return 0


def _write_depfile(arguments: Arguments, inputs: Iterable[Path]) -> None:
    """Write the depfile, by which ninja configures again when one of the `inputs` changes."""
    if "depfile" in arguments.once:
        path = Path(arguments.once["depfile"])
        names = " ".join(one.as_posix().replace("$", "$$").replace(" ", "\\ ") for one in inputs)
        write_if_changed(path, f"{path.stem}.conf: {names}\n")
