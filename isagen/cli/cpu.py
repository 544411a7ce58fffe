"""`isagen cpu`: shows what this CPU and OS have, or which levels they support."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from pathlib import Path

from ..model.errors import CompilerError
from ..planning.config import DEFAULT_TABLE
from ..probe.cache import default_cache
from ..probe.compiler import find_compiler
from ..probe.probe import probe_all
from ..processors.detection import ask_permissions, detect, missing_by_level
from ..processors.registry import default_table, this_cpu_family, this_machine
from ..processors.report import Asked, levels_json, levels_text, report, report_text
from ..processors.table import Table, load_table
from .output import standard_output
from .parser import Commands, add_table


def add(commands: Commands) -> None:
    """Add the command's parser."""
    parser = commands.add_parser("cpu", help="show what this CPU and OS have, or which levels they support")
    parser.add_argument("--levels", action="store_true", help="show for every level what is missing, if anything")
    add_table(parser)
    parser.add_argument(
        "--compiler", help="the C++ compiler to ask what the levels' flags turn on (default: c++, where there is one)"
    )
    parser.add_argument("--format", choices=("table", "json"), default="table", help="how the answer is written")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    name = default_table(this_cpu_family()) if options.table == DEFAULT_TABLE else options.table
    table = load_table(name, Path.cwd(), "--table")
    machine = this_machine(table.features.name)
    cpu = detect(table.features, machine)
    if options.levels:
        asked, turned_on = _ask(options, table)
        missing = missing_by_level(table, ask_permissions(cpu, machine), turned_on)
        text = levels_text(missing, asked)
        data = levels_json(table, missing, asked)
    else:
        text = report_text(cpu)
        data = report(cpu)
    name = machine.cpu_name()
    as_text = f"CPU: {name or 'unknown'}\n{text}"
    as_json = json.dumps({"cpu": name, **data}, indent=2) + "\n"
    standard_output().write(as_json if options.format == "json" else as_text)
    return 0


def _ask(options: argparse.Namespace, table: Table) -> tuple[Asked, Mapping[str, tuple[str, ...]]]:
    """Ask a compiler, as a build does, which features must be checked for each level; one that is named must answer."""
    try:
        compiler = find_compiler("cpp", (options.compiler or "c++").split())
        verdicts = probe_all(table, [compiler], default_cache())
    except CompilerError as problem:
        if options.compiler:
            raise
        return Asked(problem=problem.message), {}
    unavailable = tuple(level for (level, _), verdict in verdicts.items() if not verdict.available)
    return Asked(compiler.name, "", unavailable), {level: verdict.features for (level, _), verdict in verdicts.items()}
