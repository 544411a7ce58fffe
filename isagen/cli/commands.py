"""Parses the command line and runs a command. Only `configure`, which Meson calls, is parsed and run elsewhere."""

from __future__ import annotations

import os
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path

from .. import __version__
from . import audit, cpu, probe, test, tune
from .matrix import add_diff, add_matrix, add_report, add_why
from .parser import HelpFormatter, Parser, commands_of
from .project import add_demo, add_doctor, add_init

EXAMPLES = Path(__file__).with_name("examples.toml")
# In the order of the help text.
COMMANDS = (
    *(add_init, add_doctor, add_matrix, add_why, add_diff, add_report, test.add, tune.add, probe.add),
    *(cpu.add, audit.add, add_demo),
)


def run_command(words: Sequence[str]) -> int:
    """Run the command that `words` name; return the exit status."""
    parser = make_parser()
    if "_ARGCOMPLETE" in os.environ:  # a shell requests completions
        import argcomplete

        argcomplete.autocomplete(parser)
    options = parser.parse_args(words)
    if options.command is None:
        parser.print_help(sys.stderr)
        return 2
    status: int = options.run(options)
    return status


def make_parser() -> Parser:
    """Return the parser of all commands; each command's help ends with its examples."""
    parser = Parser(
        prog="isagen",
        description="Kernels compiled once per CPU instruction-set level, on stock Meson.",
        epilog="`isagen COMMAND --help` shows a command's options and examples.",
    )
    parser.add_argument("--version", action="version", version=f"isagen {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    for add in COMMANDS:
        add(commands)
    examples = tomllib.loads(EXAMPLES.read_text(encoding="utf-8"))
    for name, subparser in commands_of(parser).items():
        lines = (f"  {typed}\n      {effect}" for typed, effect in examples[name].items())
        subparser.epilog = "\n".join([*([f"{subparser.epilog}\n"] if subparser.epilog else []), "examples:", *lines])
        subparser.formatter_class = HelpFormatter
    return parser
