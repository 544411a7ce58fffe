"""Finding the answer to the Meson fragment: its arguments are checked, and the build is configured."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from .. import __version__
from ..model.errors import ConfigError, IsagenError, reported
from ..model.files import write_if_changed
from ..probe.ahead import asked_ahead
from .again import LastAnswer
from .arguments import Arguments, read_arguments
from .keyval import write_keyval
from .request import FRAGMENT_FORMAT, request_of


def found_answer(words: Sequence[str], last: LastAnswer) -> str:
    """Configure as the fragment asks, whose arguments are `words`, record the answer as the last, and return it.

    An error becomes an answer too: Meson hides what a failing command says, and shows what the fragment passes to
    error().
    """
    arguments = read_arguments(words)
    try:
        _check(arguments)
        request = request_of(arguments)
        with asked_ahead(request.compilers):
            from .configure import configure  # takes as long to load as the compilers take to answer
        found = configure(request)
        depfile = _depfile(arguments, found.inputs)
        _write_depfile(arguments, depfile)
    except (IsagenError, OSError) as problem:  # of the OS: a folder that cannot be written, a full disk
        last.forget()
        with suppress(OSError):
            read = [arguments.path("config")] if "config" in arguments.values else []
            _write_depfile(arguments, _depfile(arguments, read))
        return write_keyval({"error": f"isagen: {reported(problem)}"})
    last.keep(found.text, depfile, found.made_from)
    return found.text


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
            "a later version did: pip install --upgrade isagen, or run `isagen init` with this one to write it anew"
        )
    said = f" (format {found or 'unknown'}, this version reads {FRAGMENT_FORMAT})" if found != FRAGMENT_FORMAT else ""
    return ConfigError(f"the Meson fragment was not written by isagen {__version__}{said}", where=where, remedy=remedy)


def _depfile(arguments: Arguments, inputs: Iterable[Path]) -> str:
    """Return the file that tells ninja to configure again when one of the `inputs` changes."""
    target = arguments.path("depfile-target").name if "depfile-target" in arguments.values else ""
    names = " ".join(path.as_posix().replace("$", "$$").replace(" ", "\\ ") for path in inputs)
    return f"{target}: {names}\n" if target else ""


def _write_depfile(arguments: Arguments, text: str) -> None:
    """Write the file that tells ninja when to configure again. Meson reads it before the answer."""
    if "depfile" in arguments.values:
        write_if_changed(arguments.values["depfile"], text)
