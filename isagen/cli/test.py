"""`isagen test`: runs a command once per level, and shows which levels passed, and on which machine each ran."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from dataclasses import asdict

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ..matrix.terminal import printed
from ..matrix.where import selectable_matrices
from ..model.errors import ConfigError
from ..testing.runs import FAILED, NOT_RUN, PASSED, Run, run_levels, wanted_levels
from .matrix import WHERE
from .output import add_output, write, write_data
from .parser import Commands

DEFAULT_WHERE = "build"


def add(commands: Commands) -> None:
    """Add the command's parser."""
    parser = commands.add_parser(
        "test",
        help="run a command once per level",
        description="Run a command, such as the project's tests, once per level: on this CPU where it has the level, "
        "else under qemu. A level passes if the command succeeds and loaded a module or program that used the level. "
        "The output of the command goes to the standard error. The exit status is 1 where a level fails, where one of "
        "--levels does not run, and where none runs; it is 2 where the command cannot be run.",
    )
    parser.add_argument("--levels", default="", metavar="NAME,...", help="the levels to run; default: all")
    parser.add_argument("--of", default=DEFAULT_WHERE, metavar="WHERE", help=f"{WHERE}; default: {DEFAULT_WHERE}")
    parser.add_argument("--emulated", action="store_true", help="run every level under qemu")
    add_output(parser, ("text", "json"))
    parser.usage = "%(prog)s [options] -- COMMAND ..."
    parser.rest = "args"
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    if not any(options.args[:1]):
        raise ConfigError("there is no command", where="isagen test", remedy="name it: isagen test -- pytest")
    names = [name for name in re.split(r"[\s,]+", options.levels) if name]
    matrices = selectable_matrices(options.of)
    levels = wanted_levels(matrices, names)
    runs = list(run_levels(options.of, matrices, levels, options.args, options.emulated))
    if options.format == "json":
        write_data(options, {"command": options.args, "levels": [asdict(one) for one in runs]})
    else:
        write(options, text_of(runs))
    failed = any(one.result == FAILED or (names and one.result == NOT_RUN) for one in runs)
    return 1 if failed or not any(one.result == PASSED for one in runs) else 0


def text_of(runs: Sequence[Run]) -> str:
    """Return the results as a table that fits the terminal."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for heading in ("level", "result", "how"):
        table.add_column(heading, overflow="fold")
    for one in runs:
        table.add_row(one.level, one.result, Text(": ".join(filter(None, (one.how, one.reason)))))
    return printed(Console(color_system=None), table)
