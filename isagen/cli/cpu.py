"""`isagen cpu`: shows which level runs here, which others CPU and OS support, or the features that they have."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..model.errors import CompilerError
from ..planning.config import DEFAULT_TABLE
from ..probe.cache import default_cache
from ..probe.compiler import find_compiler
from ..probe.probe import probe_all
from ..processors.detection import Cpu, ask_permissions, detect, missing_by_level
from ..processors.registry import default_table, this_cpu_family, this_machine
from ..processors.table import Table, load_table
from .output import standard_output, wrapped
from .parser import Commands, add_table


def add(commands: Commands) -> None:
    """Add the command's parser."""
    parser = commands.add_parser("cpu", help="show which level runs here, or what this CPU and OS have")
    shown = parser.add_mutually_exclusive_group()
    shown.add_argument(
        "--levels", action="store_true", help="show a line for every level: what is missing, if anything"
    )
    shown.add_argument("--features", action="store_true", help="show the features that CPU and OS have and lack")
    add_table(parser)
    parser.add_argument(
        "--compiler", help="the C++ compiler to ask what the levels' flags turn on (default: c++, where there is one)"
    )
    parser.add_argument(
        "--format",
        choices=("text", "json", "ipex"),
        default="text",
        help="how the answer is written; ipex: registers and features as IPEX's tool cpu_features does",
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    name = default_table(this_cpu_family()) if options.table == DEFAULT_TABLE else options.table
    table = load_table(name, Path.cwd(), "--table")
    machine = this_machine(table.features.name)
    cpu = detect(table.features, machine)
    name = machine.cpu_name()
    if options.format == "ipex":
        standard_output().write(report_text(cpu))
        return 0
    if options.features:
        lines, data = list(features_lines(cpu)), report(cpu)
    else:
        asked, turned_on = _ask(options, table)
        missing = missing_by_level(table, ask_permissions(cpu, machine), turned_on)
        lines = [*(levels_lines if options.levels else summary_lines)(table, missing, asked), asked.said]
        data = levels_json(table, missing, asked)
    if options.format == "json":
        text = json.dumps({"cpu": name, **data}, indent=2) + "\n"
    else:
        text = wrapped((f"CPU: {name or 'unknown'}", *lines))
    standard_output().write(text)
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


# ---- what is written: the report of IPEX's cpu_features tool, features, and what this CPU lacks for each level


def report(cpu: Cpu) -> dict[str, Any]:
    """Return registers, the states that the OS saves, and every feature that the CPU has, whatever the OS allows."""
    lines = cpu.features.report
    return {
        **cpu.registers,
        "os": {name: state in cpu.saved for name, state in lines.os},
        "features": {name: feature in cpu.bits for name, feature in lines.features},
    }


def report_text(cpu: Cpu) -> str:
    """Return the report as the cpu_features tool writes it."""
    found = report(cpu)
    lines = [f"{name.upper()}: {value:016x}" for name, value in cpu.registers.items()]
    lines += [f"os --> {name}: {_word(saved)}" for name, saved in found["os"].items()]
    lines += [f"{name}:\t\t\t{_word(present)}" for name, present in found["features"].items()]
    return "".join(f"{line}\n" for line in lines)


def features_lines(cpu: Cpu) -> Iterator[str]:
    """Yield what the CPU has and lacks, what the OS saves, and the registers that say so."""
    found = report(cpu)
    for what, wanted in (("has", True), ("lacks", False)):
        yield f"{what}: {' '.join(name for name, present in found['features'].items() if present is wanted)}"
    yield f"the OS saves: {' '.join(name for name, saved in found['os'].items() if saved) or 'nothing'}"
    for name, value in cpu.registers.items():
        yield f"{name}: {value:016x}"


@dataclass(frozen=True)
class Asked:
    """The compiler that was asked what the flags of levels turn on, or the `problem` why none was.

    `unavailable` are the levels that it cannot build: only what the table lists is known of them.
    """

    compiler: str = ""
    problem: str = ""
    unavailable: tuple[str, ...] = ()

    @property
    def said(self) -> str:
        """What the answer rests on, in a sentence."""
        if self.problem:
            return f"what the levels' flags turn on besides their features is not known: {self.problem}"
        return f"features: those of the table, and what the levels' flags turn on under {self.compiler}"


def levels_json(table: Table, missing: Mapping[str, tuple[str, ...]], asked: Asked) -> dict[str, Any]:
    """Return the table's name, the level that runs here, and per level whether it is supported and what is missing."""
    levels = {
        name: {"supported": not lacks, "missing": list(lacks), "available": _available(name, asked)}
        for name, lacks in missing.items()
    }
    return {"table": table.name, "compiler": asked.compiler or None, "runs": _best(missing), "levels": levels}


def _best(missing: Mapping[str, tuple[str, ...]]) -> str | None:
    """Return the highest level that CPU and OS support."""
    return next((name for name in reversed(list(missing)) if not missing[name]), None)


def _available(level: str, asked: Asked) -> bool | None:
    return None if asked.problem else level not in asked.unavailable


def summary_lines(table: Table, missing: Mapping[str, tuple[str, ...]], asked: Asked) -> Iterator[str]:
    """Yield which level runs here, which are supported, and what the others lack."""
    supported = [name for name, lacks in missing.items() if not lacks]
    lacking = [f"{name} ({' '.join(lacks)})" for name, lacks in missing.items() if lacks]
    best = _best(missing)
    why = f"the highest level of table {table.name} that CPU and OS support"
    yield f"runs: {best}, {why}" if best else f"runs: no level of table {table.name}"
    yield f"supported: {' '.join(supported) or 'none'}"
    yield f"lacking: {', '.join(lacking) or 'nothing'}"


def levels_lines(table: Table, missing: Mapping[str, tuple[str, ...]], asked: Asked) -> Iterator[str]:
    """Yield a line per level: that it is supported, or what CPU and OS lack."""
    width = max(map(len, missing))
    for name, lacks in missing.items():
        unavailable = f" ({asked.compiler} cannot build it)" if name in asked.unavailable else ""
        yield f"{name:<{width}}  {'unsupported: ' + ' '.join(lacks) if lacks else 'supported'}{unavailable}"


def _word(value: bool) -> str:
    return "true" if value else "false"
