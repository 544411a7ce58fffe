"""`isagen configure`: answers the Meson fragment on the standard output, in a keyval file."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from .. import __version__
from ..model.errors import ConfigError, IsagenError, reported
from ..model.files import write_if_changed
from ..probe.ahead import asked_ahead
from .keyval import write_keyval
from .request import FRAGMENT_FORMAT, request_of


def answer_fragment(options: argparse.Namespace, unknown: list[str]) -> int:
    """Configure as the fragment asks; `unknown` are arguments that this version does not know.

    An error becomes an answer too: Meson hides what a failing command says, and shows what the fragment passes to
    error().
    """
    sys.stdout.reconfigure(encoding="utf-8", errors="surrogateescape")  # type: ignore[union-attr]
    try:
        if unknown or options.fragment_format != FRAGMENT_FORMAT:
            raise _other_version(str(options.config.with_name("meson.build")), options.fragment_format)
        request = request_of(options)
        with asked_ahead(request.compilers):
            from .configure import configure  # takes as long to load as the compilers take to answer
        text, inputs = configure(request)
        _write_depfile(options, inputs)
    except (IsagenError, OSError) as problem:  # of the OS: a folder that cannot be written, a full disk
        text = write_keyval({"error": f"isagen: {reported(problem)}"})
        with suppress(OSError):
            _write_depfile(options, (options.config,))
    sys.stdout.write(text)
    return 0


def refuse_arguments(arguments: Iterable[str]) -> None:
    """Answer a fragment whose `arguments` cannot be read as a whole."""
    for word in arguments:
        if word.startswith("--depfile="):  # Meson reads it before it reads the answer
            write_if_changed(Path(word.partition("=")[2]), "")
    sys.stdout.write(write_keyval({"error": f"isagen: {_other_version('isagen/meson.build', 0)}"}))


def _other_version(where: str, found: int) -> ConfigError:
    """Return the error of a fragment that another version of isagen wrote, in format `found`; 0 if it says none."""
    remedy = "run `isagen init` in the project to update it, and commit it"
    if found > FRAGMENT_FORMAT:
        remedy = (
            "a later version did: pip install --upgrade isagen, or run `isagen init` with this one to write it anew"
        )
    said = f" (format {found or 'unknown'}, this version reads {FRAGMENT_FORMAT})" if found != FRAGMENT_FORMAT else ""
    return ConfigError(f"the Meson fragment was not written by isagen {__version__}{said}", where=where, remedy=remedy)


def _write_depfile(options: argparse.Namespace, inputs: Sequence[Path]) -> None:
    """Tell ninja to configure again when one of the `inputs` changes."""
    names = " ".join(path.as_posix().replace("$", "$$").replace(" ", "\\ ") for path in inputs)
    write_if_changed(options.depfile, f"{options.depfile_target.name}: {names}\n")
