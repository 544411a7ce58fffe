"""`isagen cpu`: shows what this CPU and OS have, or which levels they support."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
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


# ---- what is written: the report of IPEX's cpu_features tool, and what this CPU lacks for each level


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
    """Return the table's name, and per level whether it is supported and what is missing."""
    levels = {
        name: {"supported": not lacks, "missing": list(lacks), "available": _available(name, asked)}
        for name, lacks in missing.items()
    }
    return {"table": table.name, "compiler": asked.compiler or None, "levels": levels}


def _available(level: str, asked: Asked) -> bool | None:
    return None if asked.problem else level not in asked.unavailable


def levels_text(missing: Mapping[str, tuple[str, ...]], asked: Asked) -> str:
    """Return a line per level: that it is supported, or what CPU and OS lack; and what the answer rests on."""
    width = max(map(len, missing))
    lines = [
        f"{name:<{width}}  {'unsupported: ' + ' '.join(lacks) if lacks else 'supported'}"
        + (f" ({asked.compiler} cannot build it)" if name in asked.unavailable else "")
        for name, lacks in missing.items()
    ]
    return "\n".join([*lines, asked.said]) + "\n"


def _word(value: bool) -> str:
    return "true" if value else "false"
