"""`isagen report`: describes an installed module or a build, and this machine, for a bug report."""

from __future__ import annotations

import argparse
import json

from ..matrix.report import report_data, report_markdown, report_on
from ..matrix.where import find_matrices
from .matrix import WHERE
from .output import add_output, write
from .parser import Commands


def add(commands: Commands) -> None:
    """Add the command's parser."""
    parser = commands.add_parser(
        "report",
        help="report on a build and this machine, for a bug report",
        description="Report what was built, what CPU and OS support of it, and what is selected, as Markdown. "
        "Nothing in it names a user, a host or a folder.",
    )
    parser.add_argument("where", metavar="WHERE", help=WHERE)
    add_output(parser, ("markdown", "json"))
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    reports = [report_on(found) for found in find_matrices(options.where)]
    if options.format == "json":
        data = [report_data(report) for report in reports]
        write(options, json.dumps(data[0] if len(data) == 1 else data, indent=2) + "\n")
    else:
        write(options, "\n".join(map(report_markdown, reports)))
    return 0
