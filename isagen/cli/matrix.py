"""`isagen matrix`: shows what was built, and why not the rest."""

from __future__ import annotations

import argparse
import io
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from ..matrix.built import objects_of
from ..matrix.formats import as_csv, as_json, as_markdown
from ..matrix.html import html_text
from ..matrix.loops import hot_loops
from ..matrix.selection import selection_here
from ..matrix.terminal import print_matrix
from ..matrix.where import Found, find_matrices
from ..model.errors import ConfigError
from ..tune.results import read_results
from .output import add_output, standard_output, write
from .parser import Commands

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
        help="speeds that `isagen tune --save` wrote, shown with --format html",
    )
    parser.add_argument("--flags", action="store_true", help="show each level's flags, in the terminal")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    if options.speeds is not None and options.format != "html":
        raise ConfigError("is shown in a page only", where="--speeds", remedy="give --format html too")
    matrices = [found for where in options.where for found in find_matrices(where)]
    if options.format == "html":
        write(options, _page(matrices, options.speeds))
    elif options.format == "terminal":
        stream = io.StringIO() if options.output is not None else standard_output()
        for number, found in enumerate(matrices):
            if number:
                print(file=stream)
            label = found.label if len(matrices) > 1 else ""
            print_matrix(found.matrix, label, stream, selection_here(found.matrix), options.flags)
        if isinstance(stream, io.StringIO):
            write(options, stream.getvalue())
    else:
        render = {"json": as_json, "markdown": as_markdown, "csv": as_csv}[options.format]
        write(options, render([(found.label, found.matrix) for found in matrices]))
    return 0


def _page(matrices: Sequence[Found], speeds: Path | None) -> str:
    """Return the page of several matrices, each under its own label, with the hot loops of those in build folders."""
    labels = Counter(found.label for found in matrices)
    labelled = [
        (found.label if labels[found.label] == 1 else f"{number}: {found.label}, {found.matrix.project}", found)
        for number, found in enumerate(matrices, 1)
    ]
    loops = {
        (label, *copy): loop
        for label, found in labelled
        if found.plan is not None
        for copy, loop in hot_loops(found.matrix, objects_of(found.plan)).items()
    }
    medians = read_results(speeds).medians if speeds is not None else None
    return html_text([(label, found.matrix) for label, found in labelled], loops, medians)
