"""`isagen tune`: shows which levels pay for their bytes, by a benchmark of the project."""

from __future__ import annotations

import argparse
import sys
from dataclasses import asdict

from ..model.errors import ConfigError
from ..tune.judge import FEWEST, PROGRAM, advise, text_of
from ..tune.measure import measure, only_matrix
from .matrix import WHERE
from .output import add_output, write_data, write_lines
from .parser import Commands
from .progress import Progress


def add(commands: Commands) -> None:
    """Add the command's parser."""
    parser = commands.add_parser(
        "tune",
        help="say which levels pay for their bytes, by a benchmark",
        description="Run a benchmark of the project at each level in turns, and say which levels pay for their bytes. "
        "The benchmark prints lines NAME SECONDS, where NAME is a kernel's path, the end of that path, or a stub. "
        "Without such lines, the time of the whole command counts for all kernels together.",
    )
    parser.add_argument("where", metavar="WHERE", help=WHERE)
    parser.add_argument("--rounds", type=int, default=9, help="how often each level runs; default: 9, at least 6")
    parser.add_argument(
        "--margin", type=float, default=3, help="the gain in percent that makes a copy worth its bytes; default: 3"
    )
    add_output(parser, ("text", "json"))
    parser.usage = "%(prog)s [options] WHERE -- COMMAND ..."
    parser.rest = "args"
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    # All options are checked first, so that no benchmark runs for minutes before an error.
    if options.rounds < FEWEST:
        raise ConfigError(f"{options.rounds} rounds are too few", where="--rounds", remedy=f"give at least {FEWEST}")
    if not 0 <= options.margin < 100:
        message = f"{options.margin} is not from 0 to 100 percent"
        raise ConfigError(message, where="--margin", remedy="give one: --margin 3")
    if not options.args:
        remedy = "name it: isagen tune build -- python bench.py"
        raise ConfigError("there is no benchmark", where="isagen tune", remedy=remedy)
    unknown: set[str] = set()
    with Progress() as line:
        results = measure(only_matrix(options.where), options.args, options.rounds, line.show, unknown)
    if PROGRAM in results.kernels:
        print("isagen: no line names a kernel: the time of the whole command counts", file=sys.stderr)
    if unknown:
        names = ", ".join(sorted(unknown))
        print(f"isagen: lines of these names are left out, because no kernel has them: {names}", file=sys.stderr)
    advice = advise(results, options.margin / 100)
    if options.format == "json":
        write_data(options, {"kernels": [{**asdict(one), "dropped": one.dropped} for one in advice]})
    else:
        write_lines(options, text_of(advice).splitlines(), indent=" " * 8)
    return 0
