"""`isagen matrix`: shows what was built, and why not the rest."""

from __future__ import annotations

import argparse
import io
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from ..matrix.where import Found
from ..model.errors import ConfigError
from .common import Commands
from .output import add_output, standard_output, write

WHERE = "a build folder, a binary, a wheel, a folder of them, or the name of an installed module"
FORMATS = ("terminal", "html", "json", "markdown", "csv")


def add(commands: Commands) -> None:
    """Add the command's parser."""
    parser = commands.add_parser(
        "matrix",
        help="show what was built, and why not the rest",
        description="Show the build matrix: every kernel at every level, with flags, verdict, reason and code size.",
    )
    parser.add_argument("where", nargs="+", metavar="WHERE", help=WHERE)
    add_output(parser, FORMATS)
    parser.add_argument(
        "--speeds",
        type=Path,
        metavar="FILE.json",
        help="measured speeds, shown with --format html; docs/speeds.schema.json describes the file",
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    from ..matrix.formats import as_csv, as_json, as_markdown
    from ..matrix.terminal import print_matrix
    from ..matrix.where import find_matrices

    if options.speeds is not None and options.format != "html":
        raise ConfigError("is shown in a page only", where="--speeds", remedy="give --format html too")
    found = [one for where in options.where for one in find_matrices(where)]
    if options.format == "terminal":
        stream = io.StringIO() if options.output is not None else standard_output()
        for number, one in enumerate(found):
            if number:
                print(file=stream)
            print_matrix(one.matrix, one.label if len(found) > 1 else "", stream)
        if isinstance(stream, io.StringIO):
            write(options, stream.getvalue())
        return 0
    if options.format == "html":
        write(options, _page(found, options.speeds))
        return 0
    render = {"json": as_json, "markdown": as_markdown, "csv": as_csv}[options.format]
    write(options, render([(one.label, one.matrix) for one in found]))
    return 0


def _page(found: Sequence[Found], speeds: Path | None) -> str:
    """Return the page of several matrices, with the hot loops of those in build folders."""
    from ..matrix.built import objects_of
    from ..matrix.html import html_text
    from ..matrix.loops import Loop, hot_loop, own_features
    from ..matrix.speeds import read_speeds

    loops: dict[tuple[str, str, str], Loop] = {}
    labels = Counter(one.label for one in found)
    matrices = [
        (one.label if labels[one.label] == 1 else f"{number}: {one.label}, {one.matrix.project}", one)
        for number, one in enumerate(found, 1)
    ]
    for label, one in matrices:
        for (kernel, level), path in (objects_of(one.plan) if one.plan is not None else {}).items():
            row = one.matrix.level(level)
            loop = hot_loop(path, own_features(one.matrix, row), one.matrix.baseline) if row is not None else None
            if loop is not None:
                loops[label, kernel, level] = loop
    return html_text(
        [(label, one.matrix) for label, one in matrices], loops, read_speeds(speeds) if speeds is not None else None
    )
