"""The commands for people: parses their arguments, and calls one."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module

from .. import __version__
from .examples import examples_text
from .parser import Parser, commands_of

# In the order of the help text.
COMMANDS = ("init", "doctor", "matrix", "why", "diff", "report", "tune", "probe", "cpu", "audit", "demo", "completion")


def run_command(words: Sequence[str]) -> int:
    """Run the command that `words` name; return the exit status."""
    parser = make_parser()
    options, unknown = parser.parse_known_args(words)
    if options.command is None:
        parser.print_help(sys.stderr)
        return 2
    if unknown:
        commands_of(parser)[options.command].refuse_unknown(unknown)
    options.parser = parser
    command: Callable[[argparse.Namespace], int] = options.run
    return command(options)


def make_parser(names: Iterable[str] = COMMANDS) -> Parser:
    """Return the parser of the commands called `names`; each command's help ends with its examples."""
    parser = Parser(
        prog="isagen",
        description="Kernels compiled once per CPU instruction-set level, on stock Meson.",
        epilog="`isagen COMMAND --help` shows a command's options and examples.",
    )
    parser.add_argument("--version", action="version", version=f"isagen {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    for name in names:
        import_module(f".{name}", __package__).add(commands)
    for name, one in commands_of(parser).items():
        if one.epilog is None:
            one.epilog = examples_text(name)
            one.formatter_class = argparse.RawDescriptionHelpFormatter
    return parser
