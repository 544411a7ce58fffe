"""Adds the options --format and -o, and writes a command's output to a file or the standard output."""

from __future__ import annotations

import argparse
import errno
import json
import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from shutil import get_terminal_size
from textwrap import TextWrapper
from typing import Any, TextIO

from ..model.printable import CONTROLS, SURROGATES

# What `str.translate` replaces in text for the standard output.
UNSAFE = {number: shown for number, shown in CONTROLS.items() if chr(number) not in "\n\t"} | SURROGATES


def add_output(parser: argparse.ArgumentParser, formats: Sequence[str] = ()) -> None:
    """Add the option -o and, if `formats` are given, the option --format; the first of them is its default."""
    if formats:
        named = f"{', '.join(formats)}; default: {formats[0]}"
        parser.add_argument("--format", choices=formats, default=formats[0], metavar="FORMAT", help=named)
    parser.add_argument(
        "-o", "--output", type=Path, metavar="FILE", help="write to FILE instead of the standard output"
    )


def standard_output() -> TextIO:
    """Return the standard output, set to escape letters that it cannot encode. Raises OSError if it is closed."""
    if sys.stdout is None:
        raise OSError(errno.EBADF, os.strerror(errno.EBADF), "standard output")
    sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    return sys.stdout


def wrapped(lines: Iterable[str], indent: str = "    ", code: str = "", stream: TextIO | None = None) -> str:
    """Return lines as text, wrapped to the terminal's width if `stream` (default: the standard output) is a terminal.

    Later parts of a wrapped line begin with `indent`. Lines that start with `code`, if it is not "", are not wrapped.
    """
    stream = stream or sys.stdout
    if stream is not None and stream.isatty():
        wrapper = TextWrapper(get_terminal_size().columns, subsequent_indent=indent)
        wrapper.break_long_words = wrapper.break_on_hyphens = False
        lines = (line if code and line.startswith(code) else wrapper.fill(line) for line in lines)
    return "".join(f"{line}\n" for line in lines)


def write(options: argparse.Namespace, text: str) -> None:
    """Write a text to the file, device or pipe of -o, or to the standard output."""
    if options.output is None:
        standard_output()  # sets escapes, and raises an error if it is closed
        flush(text.translate(UNSAFE))
        return
    data = text.translate(SURROGATES).encode(errors="surrogateescape")
    try:
        options.output.write_bytes(data)
    except OSError as problem:
        problem.filename = str(options.output)
        raise


def write_lines(options: argparse.Namespace, lines: Sequence[str], indent: str = "    ") -> None:
    """Write lines. Those that go to the standard output are `wrapped` first."""
    write(options, wrapped(lines, indent) if options.output is None else "".join(f"{line}\n" for line in lines))


def write_data(options: argparse.Namespace, data: Any) -> None:
    """Write data as indented JSON."""
    write(options, json.dumps(data, indent=2) + "\n")


def flush(text: str = "") -> None:
    """Write `text` to the standard output and flush it, so that an error can still change the exit status.

    After an error, the buffered output is discarded: at exit, Python would flush it again, and fail again.
    """
    stream = sys.stdout
    if stream is None:  # closed
        return
    try:
        stream.write(text)
        stream.flush()
    except OSError as problem:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        problem.filename = "standard output"
        raise
