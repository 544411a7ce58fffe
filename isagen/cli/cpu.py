"""`isagen cpu`: shows what this CPU and OS have, or which levels they support."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING

from .common import add_table, table_of
from .output import standard_output

if TYPE_CHECKING:
    from .common import Commands


def add(commands: Commands) -> None:
    """Add the command's parser."""
    parser = commands.add_parser("cpu", help="show what this CPU and OS have, or which levels they support")
    parser.add_argument("--levels", action="store_true", help="show for every level what is missing, if anything")
    add_table(parser)
    parser.add_argument("--format", choices=("table", "json"), default="table", help="how the answer is written")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    from ..processors.cpu_name import cpu_name
    from ..processors.detection import ask_permissions, detect, missing_by_level
    from ..processors.registry import this_machine
    from ..processors.report import levels_json, levels_text, report, report_text

    table = table_of(options)
    machine = this_machine(table.features.name)
    cpu = detect(table.features, machine)
    if options.levels:
        missing = missing_by_level(table, ask_permissions(cpu, machine))
        text = levels_text(missing)
        data = levels_json(table, missing)
    else:
        text = report_text(cpu)
        data = report(cpu)
    name = cpu_name(machine)
    as_text = f"CPU: {name or 'unknown'}\n{text}"
    as_json = json.dumps({"cpu": name, **data}, indent=2) + "\n"
    standard_output().write(as_json if options.format == "json" else as_text)
    return 0
