"""Parses the arguments, calls one command, and is the one place that turns an error into an exit."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module

from .. import __version__
from ..model.errors import IsagenError, reported
from .examples import examples_text
from .output import flush
from .parser import HIDDEN, Parser, commands_of

# In the order of the help text. The fragment calls `configure`, which the help does not show.
COMMANDS = (
    *("init", "doctor", "matrix", "why", "diff", "report", "tune", "probe", "cpu", "audit", "demo", "completion"),
    HIDDEN,
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command that `arguments` (default: the process's own) name; return the exit status."""
    try:
        try:
            return _run(arguments)
        finally:
            flush()
    except BrokenPipeError:
        return 1
    except (IsagenError, OSError) as problem:
        error = reported(problem)
        print(f"isagen: error: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        return 130


def _run(arguments: Sequence[str] | None) -> int:
    words = sys.argv[1:] if arguments is None else arguments
    # Meson waits for this command, which needs no other.
    parser = make_parser((HIDDEN,) if words[:1] == [HIDDEN] else COMMANDS)
    options, unknown = parser.parse_known_args(words)
    if options.command is None:
        parser.print_help(sys.stderr)
        return 2
    if unknown and options.command != HIDDEN:
        commands_of(parser)[options.command].refuse_unknown(unknown)
    options.parser, options.unknown = parser, unknown
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
