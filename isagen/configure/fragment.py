"""`isagen configure`: answers the Meson fragment."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from .. import __version__
from ..model.errors import ConfigError, IsagenError, reported
from ..model.files import write_if_changed
from .arguments import Arguments, read_arguments
from .configure import configure
from .keyval import write_keyval
from .request import FRAGMENT_FORMAT, request_of


def answer_fragment(words: Iterable[str]) -> int:
    """Configure as the fragment asks, whose arguments are `words`, and write the answer to the standard output.

    An error becomes an answer too: Meson hides what a failing command says, and shows what the fragment passes to
    error().
    """
    sys.stdout.reconfigure(encoding="utf-8", errors="surrogateescape")  # type: ignore[union-attr]
    arguments = read_arguments(words)
    try:
        _check(arguments)
        text, inputs = configure(request_of(arguments))
        _write_depfile(arguments, inputs)
    except (IsagenError, OSError) as problem:  # of the OS: a folder that cannot be written, a full disk
        with suppress(OSError):
            _write_depfile(arguments, [arguments.path("config")] if "config" in arguments.values else [])
        text = write_keyval({"error": f"isagen: {reported(problem)}"})
    sys.stdout.write(text)
    return 0


def _check(arguments: Arguments) -> None:
    """Raise `ConfigError` for a fragment of another version."""
    if not arguments.complete:
        raise _other_version("isagen/meson.build", 0)
    if arguments.strange or arguments.format != FRAGMENT_FORMAT:
        raise _other_version(str(arguments.path("config").with_name("meson.build")), arguments.format)


def _other_version(where: str, found: int) -> ConfigError:
    """Return the error of a fragment that another version of isagen wrote, in format `found`; 0 if it says none."""
    remedy = "run `isagen init` in the project to update it, and commit it"
    if found > FRAGMENT_FORMAT:
        remedy = (
            "a later isagen wrote it: run pip install --upgrade isagen, or run `isagen init` to rewrite it with this "
            "version"
        )
    said = f" (format {found or 'unknown'}, this version reads {FRAGMENT_FORMAT})" if found != FRAGMENT_FORMAT else ""
    return ConfigError(f"the Meson fragment was not written by isagen {__version__}{said}", where=where, remedy=remedy)


def _write_depfile(arguments: Arguments, inputs: Iterable[Path]) -> None:
    """Write the file by which ninja configures again when one of the `inputs` changes. Meson reads it first."""
    if "depfile" in arguments.values:
        target = arguments.path("depfile-target").name if "depfile-target" in arguments.values else ""
        names = " ".join(path.as_posix().replace("$", "$$").replace(" ", "\\ ") for path in inputs)
        write_if_changed(arguments.values["depfile"], f"{target}: {names}\n" if target else "")
