"""`isagen probe`: shows which levels a compiler can build."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict, replace
from typing import TYPE_CHECKING

from .common import add_table, table_of

if TYPE_CHECKING:
    from .common import Commands


def add(commands: Commands) -> None:
    """Add the command's parser."""
    parser = commands.add_parser("probe", help="show which levels a compiler can build")
    parser.add_argument("--compiler", default="c++", help="the compiler to ask (default: c++)")
    parser.add_argument("--language", choices=("c", "cpp"), default="cpp")
    add_table(parser)
    parser.add_argument("--format", choices=("table", "json"), default="table")
    parser.add_argument("args", nargs="*", metavar="-- ARGUMENT", help="arguments of the project, such as -m32")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    from ..probe.cache import NO_CACHE
    from ..probe.compiler import find_compiler
    from ..probe.probe import probe_all

    compiler = replace(find_compiler(options.language, options.compiler.split()), args=tuple(options.args))
    verdicts = probe_all(table_of(options), [compiler], NO_CACHE)
    if options.format == "json":
        print(json.dumps({level: asdict(verdict) for (level, _), verdict in verdicts.items()}, indent=2))
        return 0
    for (level, _), verdict in verdicts.items():
        print(
            f"{level:<14} {'available' if verdict.available else 'unavailable'}: "
            f"{' '.join(verdict.flags) or 'no flags' if verdict.available else verdict.reason}"
        )
        for flag, reason in verdict.dropped:
            print(f"{'':<14} without {flag}: {reason}")
    return 0
