"""The options --format and -o, and writing what a command says to a file or the standard output."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from ..model.files import write_atomically


def add_output(parser: argparse.ArgumentParser, formats: Sequence[str]) -> None:
    """Add the options; the first of the `formats` is the default."""
    parser.add_argument(
        "--format", choices=formats, default=formats[0], help=f"{', '.join(formats)}; default: {formats[0]}"
    )
    parser.add_argument(
        "-o", "--output", type=Path, metavar="FILE", help="write to FILE instead of the standard output"
    )


def write(options: argparse.Namespace, text: str) -> None:
    """Write a text where the options say; a file is there whole, or as it was."""
    if options.output is None:
        sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]  # names may be of any letters
        sys.stdout.write(text)
    else:
        write_atomically(options.output, text.encode(errors="surrogateescape"))
