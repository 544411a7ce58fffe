"""`isagen matrix`: shows what was built, and why not the rest."""

from __future__ import annotations

import argparse
import io
import sys
from typing import TYPE_CHECKING

from .output import add_output, write

if TYPE_CHECKING:
    from .common import Commands

WHERE = "a build folder, a binary, a wheel, a folder of them, or the name of an installed module"
FORMATS = ("terminal", "json", "markdown", "csv")
EXAMPLES = """\
examples:
  isagen matrix build                         what a build folder builds
  isagen matrix fastdot                       what the installed package fastdot was built with
  isagen matrix --format csv -o m.csv *.whl   for a spreadsheet
"""


def add(commands: Commands) -> None:
    """Add the command's parser."""
    parser = commands.add_parser(
        "matrix",
        help="show what was built, and why not the rest",
        description="Show the build matrix: every kernel at every level, with flags, verdict, reason and code size.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("where", nargs="+", metavar="WHERE", help=WHERE)
    add_output(parser, FORMATS)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    from ..matrix.formats import as_csv, as_json, as_markdown
    from ..matrix.terminal import print_matrix
    from ..matrix.where import find_matrices

    found = [one for where in options.where for one in find_matrices(where)]
    if options.format == "terminal":
        stream = io.StringIO() if options.output is not None else sys.stdout
        for number, one in enumerate(found):
            if number:
                print(file=stream)
            print_matrix(one.matrix, one.label if len(found) > 1 else "", stream)
        if isinstance(stream, io.StringIO):
            write(options, stream.getvalue())
        return 0
    render = {"json": as_json, "markdown": as_markdown, "csv": as_csv}[options.format]
    write(options, render([(one.label, one.matrix) for one in found]))
    return 0
