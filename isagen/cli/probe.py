"""`isagen probe`: shows which levels a compiler can build."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

from ..configure.limits import limits_of
from ..model.languages import LANGUAGES
from ..model.plan import Verdict
from ..probe.cache import NO_CACHE
from ..probe.compiler import find_compiler
from ..probe.probe import limited_verdicts, probe_all
from ..processors.flags import compiler_family
from .output import wrapped
from .parser import Commands, add_table


def add(commands: Commands) -> None:
    """Add the command's parser."""
    parser = commands.add_parser("probe", help="show which levels a compiler can build")
    parser.add_argument("--compiler", default="c++", help="the compiler to ask (default: c++)")
    parser.add_argument("--language", choices=tuple(LANGUAGES), default="cpp", help="its language (default: cpp)")
    add_table(parser)
    parser.add_argument("--format", choices=("table", "json"), default="table", help="how the answer is written")
    parser.add_argument("args", nargs="*", metavar="-- ARGUMENT", help="arguments of the project, such as -m32")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    compiler = replace(find_compiler(options.language, options.compiler.split()), args=tuple(options.args))
    table, limit = limits_of(compiler, options.table, Path.cwd(), "--table")
    if limit.reason and options.format != "json":
        print(f"only {table.lowest.name}: {limit.reason}")
    results = limited_verdicts(table, [compiler], limit) if limit.opaque else probe_all(table, [compiler], NO_CACHE)
    if options.format == "json":
        print(json.dumps({level: asdict(verdict) for (level, _), verdict in results.items()}, indent=2))
        return 0
    unshown = list(table.features.known_broken)
    for (level, _), verdict in results.items():
        identity = compiler_family(compiler.id), compiler.version, compiler.baseline_macros if unshown else {}
        bugs = [bug for bug in unshown if bug.concerns(*identity, verdict.features)]
        unshown = [bug for bug in unshown if bug not in bugs]  # each bug is shown once, at the lowest level with it
        print(wrapped(_lines(level, verdict, [bug.text for bug in bugs]), indent=" " * 17), end="")
    return 0


def _lines(level: str, verdict: Verdict, bugs: Sequence[str]) -> list[str]:
    text = " ".join(verdict.flags) or "no flags" if verdict.available else verdict.reason
    lines = [f"{level:<14} {'available' if verdict.available else 'unavailable'}: {text}"]
    lines += [f"{'':<14} without {flag}: {reason}" for flag, reason in verdict.dropped]
    return lines + [f"{'':<14} known bug: {bug}" for bug in bugs]
