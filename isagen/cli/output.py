"""The options --format and -o, and writing what a command says to a file or the standard output."""

from __future__ import annotations

import argparse
import errno
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from ..model.errors import IsagenError, reported
from ..model.files import write_atomically
from ..model.printable import CONTROLS, SURROGATES
from .main import flush

UNSAFE = {number: shown for number, shown in CONTROLS.items() if chr(number) not in "\n\t"} | SURROGATES


def add_output(parser: argparse.ArgumentParser, formats: Sequence[str]) -> None:
    """Add the options; the first of the `formats` is the default."""
    parser.add_argument(
        "--format", choices=formats, default=formats[0], help=f"{', '.join(formats)}; default: {formats[0]}"
    )
    parser.add_argument(
        "-o", "--output", type=Path, metavar="FILE", help="write to FILE instead of the standard output"
    )


def standard_output() -> TextIO:
    """Return the standard output, which takes names of any letters. Raises OSError where it is closed."""
    if sys.stdout is None:
        raise OSError(errno.EBADF, os.strerror(errno.EBADF), "standard output")
    sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    return sys.stdout


def write(options: argparse.Namespace, text: str) -> None:
    """Write a text where the options say; a file is there whole, or as it was. Devices and pipes are written to."""
    if options.output is None:
        standard_output()  # an error where there is none
        flush(text.translate(UNSAFE))
        return
    path: Path = options.output
    data = text.translate(SURROGATES).encode(errors="surrogateescape")
    if path.exists() and not path.is_file() and not path.is_dir():
        try:
            path.write_bytes(data)
        except OSError as problem:
            problem.filename = str(path)
            raise
    else:
        write_atomically(Path(os.path.realpath(path)) if path.is_symlink() else path, data)


@contextmanager
def failing(status: int) -> Iterator[None]:
    """Let what fails inside end the command with `status`, where 1 means something else."""
    try:
        yield
    except BrokenPipeError:
        raise
    except (IsagenError, OSError) as problem:
        error = reported(problem)
        error.exit_code = status
        raise error from None
