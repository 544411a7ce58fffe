"""`isagen cpu`: shows which level runs here, which levels CPU and OS support, or which features the CPU has."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ..planning.config import DEFAULT_TABLE
from ..processors.detection import Cpu, ask_permissions, detect, missing_by_level
from ..processors.registry import processor_of_family, this_cpu_family, this_machine
from ..processors.table import Table, load_table
from .output import standard_output, wrapped
from .parser import Commands, add_table


def add(commands: Commands) -> None:
    """Add the command's parser."""
    parser = commands.add_parser("cpu", help="show which level runs here, or what this CPU and OS have")
    shown = parser.add_mutually_exclusive_group()
    shown.add_argument("--levels", action="store_true", help="show a line for every level: what CPU and OS lack")
    shown.add_argument("--features", action="store_true", help="show which features the CPU has and lacks")
    add_table(parser)
    parser.add_argument(
        "--format",
        choices=("text", "json", "ipex"),
        default="text",
        help="the form of the output; ipex: registers and features as IPEX's tool cpu_features writes them",
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    table_name = processor_of_family(this_cpu_family()).name if options.table == DEFAULT_TABLE else options.table
    table = load_table(table_name, Path.cwd(), "--table")
    machine = this_machine(table.features.name)
    cpu = detect(table.features, machine)
    if options.format == "ipex":
        standard_output().write(ipex_text(cpu))
        return 0
    if options.features:
        lines, data = list(features_lines(cpu)), features_data(cpu)
    else:
        missing = missing_by_level(table, ask_permissions(cpu, machine))
        lines = list(levels_lines(missing) if options.levels else summary_lines(table, missing))
        data = levels_data(table, missing)
    name = machine.cpu_name()
    if options.format == "json":
        text = json.dumps({"cpu": name, **data}, indent=2) + "\n"
    else:
        text = wrapped((f"CPU: {name or 'unknown'}", *lines))
    standard_output().write(text)
    return 0


# ---- features


def ipex_text(cpu: Cpu) -> str:
    """Return what IPEX's tool cpu_features writes: registers, states and features."""
    report = cpu.features.report
    lines = [f"{name.upper()}: {value:016x}" for name, value in cpu.registers.items()]
    lines += [f"os --> {name}: {json.dumps(state in cpu.saved)}" for name, state in report.os.items()]
    lines += [f"{name}:\t\t\t{json.dumps(report.names.get(name, name) in cpu.present)}" for name in report.features]
    return "".join(f"{line}\n" for line in lines)


def features_data(cpu: Cpu) -> dict[str, Any]:
    """Return the registers, whether the OS saves each state, and whether the CPU has each feature.

    The CPU's features are listed as present even if the OS does not save their states.
    """
    return {
        **cpu.registers,
        "os": {name: name in cpu.saved for name in cpu.features.states},
        "features": {name: name in cpu.present for name in cpu.features.features},
    }


def features_lines(cpu: Cpu) -> Iterator[str]:
    """Yield the data of `features_data` as lines of text."""
    data = features_data(cpu)
    for heading, wanted in (("has", True), ("lacks", False)):
        yield f"{heading}: {' '.join(name for name, has in data['features'].items() if has is wanted) or 'nothing'}"
    yield f"the OS saves: {' '.join(name for name, saved in data['os'].items() if saved) or 'nothing'}"
    for name, value in cpu.registers.items():
        yield f"{name}: {value:016x}"


# ---- levels


def levels_data(table: Table, missing: Mapping[str, tuple[str, ...]]) -> dict[str, Any]:
    """Return the table, the level that runs here, and the features that CPU and OS lack for each level."""
    levels = {name: {"supported": not features, "missing": list(features)} for name, features in missing.items()}
    return {"table": table.name, "runs": _best(missing), "levels": levels}


def _best(missing: Mapping[str, tuple[str, ...]]) -> str | None:
    return next((name for name in reversed(list(missing)) if not missing[name]), None)


def summary_lines(table: Table, missing: Mapping[str, tuple[str, ...]]) -> Iterator[str]:
    """Yield lines: which level runs here, which levels are supported, and what CPU and OS lack for the others."""
    supported = [name for name, features in missing.items() if not features]
    lacking = [f"{name} ({' '.join(features)})" for name, features in missing.items() if features]
    best = _best(missing)
    why = f"the highest level of table {table.name} that CPU and OS support"
    yield f"runs: {best}, {why}" if best else f"runs: no level of table {table.name}"
    yield f"supported: {' '.join(supported) or 'none'}"
    yield f"lacking: {', '.join(lacking) or 'nothing'}"


def levels_lines(missing: Mapping[str, tuple[str, ...]]) -> Iterator[str]:
    """Yield a line per level: "supported", or the features that CPU and OS lack."""
    width = max(map(len, missing))
    for name, features in missing.items():
        yield f"{name:<{width}}  {'unsupported: ' + ' '.join(features) if features else 'supported'}"
