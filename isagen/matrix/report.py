"""Makes the text for a bug report on an installed module or a build: matrix, machine, and level in use."""

from __future__ import annotations

import json
import platform
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import partial
from importlib import metadata
from secrets import token_hex
from typing import Any

from ..model.errors import IsagenError
from ..model.matrix import MATRIX_FORMAT, Matrix, MatrixLevel
from ..model.plan import BUILT
from ..processors.detection import ask_permissions, detect
from ..processors.features import read_features
from ..processors.registry import this_machine
from .formats import escaped, markdown_table
from .paths import without_paths
from .planned import public
from .selection import Selection, selection_here
from .where import Found
from .words import bugs_text, facts, verdict_text

LONGEST = 120  # seconds that an import may take
SCRIPT = """
import importlib, json, sys, warnings
warnings.simplefilter("ignore")
module = importlib.import_module(sys.argv[1])
if not hasattr(module, "isa"):
    print("\\n" + sys.argv[2] + json.dumps({"problem": "unknown: the module has no attribute isa; "
          "isa_add_to_module(module) of isa_python.h adds it when the module is initialised"}), flush=True)
    sys.exit()
isa = module.isa
levels = {stub: next((name for name, state in by_level.items() if state == "selected"), "")
          for stub, by_level in isa.kernels.items()}
print("\\n" + sys.argv[2] + json.dumps({"current": isa.current, "kernels": levels}), flush=True)
"""


@dataclass(frozen=True)
class Machine:
    """This machine, without names of users, hosts and folders."""

    cpu: str
    features: tuple[str, ...]
    states: tuple[str, ...]
    system: str
    python: str


@dataclass(frozen=True)
class Running:
    """A loaded module: the `current` level, and in `kernels` the level of each stub; or why its import failed."""

    problem: str = ""
    current: str = ""
    kernels: Mapping[str, str] | None = None


@dataclass(frozen=True)
class Report:
    """A report: `here` is the level that the machine selects, `running` are the levels in use in a loaded module."""

    package: str
    name: str
    matrix: Matrix
    machine: Machine
    here: Selection
    running: Running | None


def report_on(found: Found) -> Report:
    """Return the report on one matrix; an installed module is imported in a separate process."""
    matrix = public(found.matrix)
    selection = selection_here(matrix)
    return Report(
        package=_package(found.module),
        name=found.module or found.label.rpartition("/")[2],
        matrix=matrix,
        machine=_machine(matrix),
        here=replace(selection, override=without_paths(selection.override)),
        running=running_levels(found.module) if found.module else None,
    )


def report_data(report: Report) -> dict[str, Any]:
    """Return a report as plain data."""
    return {"format": MATRIX_FORMAT, **asdict(report)}


def report_markdown(report: Report) -> str:
    """Return a report as Markdown."""
    lines = [f"### isagen report: {escaped(report.name)}", ""]
    for name, text in _facts(report).items():
        lines.append(f"- {name}: {escaped(without_paths(text))}")
    lines += ["", *markdown_table(("level", "build", "CPU and OS"), map(partial(_level, report), report.matrix.levels))]
    if report.running is not None and report.running.kernels:
        stubs = ((stub, level or "none") for stub, level in report.running.kernels.items())
        lines += markdown_table(("stub", "level"), stubs)
    return "\n".join(lines)


def _facts(report: Report) -> dict[str, str]:
    """Return the facts of the build and the machine, by name."""
    matrix, machine = report.matrix, report.machine
    texts = {
        "package": report.package,
        "project": f"{matrix.project}, table {matrix.table}",
        **dict(facts(matrix)),
        "known bugs": bugs_text(matrix),
        "override at run time": "",
        "override": _override(report),
        "selected": _selected(report),
        "CPU": machine.cpu,
        "CPU features": " ".join(machine.features) or "unknown",
        "OS": f"{machine.system}; saves {' '.join(machine.states) or 'no vector state that is known'}",
        "Python": machine.python,
    }
    return {name: text for name, text in texts.items() if text}


def _level(report: Report, level: MatrixLevel) -> tuple[str, str, str]:
    """Return a row of the table of levels."""
    missing = report.here.missing.get(level.name, ())
    state = "unknown" if report.here.problem else "supported"
    reason = f": {level.reason}" if level.verdict != BUILT else ""
    return level.name, verdict_text(level) + reason, f"lack {' '.join(missing)}" if missing else state


def _override(report: Report) -> str:
    matrix, here = report.matrix, report.here
    variables = [name for name in (matrix.override, *(alias.variable for alias in matrix.aliases)) if name]
    if not variables:
        return "there is none"
    if not here.override:
        return f"{' and '.join(variables)} {'is' if len(variables) == 1 else 'are'} not set"
    named = "" if here.asked or here.excluded else ", which is no level of this build"
    return f"{here.variable}={here.override}{named}"


def _selected(report: Report) -> str:
    if report.running is not None:
        return report.running.current or report.running.problem
    if report.here.problem:
        return f"unknown: {report.here.problem}"
    return f"{report.here.selected or 'none'} (as isagen computes it; no module was imported)"


def _package(module: str) -> str:
    """Return the name and the version of a module's distribution; "" if none is known."""
    distributions: Mapping[str, list[str]] = metadata.packages_distributions() if module else {}
    names = distributions.get(module.partition(".")[0], [])
    return ", ".join(f"{name} {metadata.version(name)}" for name in names)


def _machine(matrix: Matrix) -> Machine:
    """Return this machine, without features and states if the CPU's features cannot be read."""
    name, cpu = "", None
    with suppress(IsagenError):
        machine = this_machine(matrix.features)
        cpu = ask_permissions(detect(read_features(matrix.features), machine), machine)
        name = machine.cpu_name()
    return Machine(
        cpu=name or platform.processor() or "unknown",
        features=tuple(name for name in cpu.features.features if name in cpu.bits) if cpu is not None else (),
        states=tuple(sorted(cpu.saved - cpu.refused)) if cpu is not None else (),
        system=f"{platform.system()} {platform.release()}, {platform.machine()}",
        python=f"{platform.python_implementation()} {platform.python_version()} ({sys.platform})",
    )


def running_levels(module: str) -> Running:
    """Import a module in a separate process, and return the levels in its attribute `isa`."""
    mark = f"isagen {token_hex(8)}: "  # starts the line that the script prints: the module may print lines too
    try:
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT, module, mark],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=LONGEST,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return Running(f"importing it failed: it took more than {LONGEST} seconds")
    except OSError as problem:
        return Running(f"importing it failed: {problem.strerror}")
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or [f"the process ended with status {done.returncode}"])[-1]
        return Running(f"importing it failed: {without_paths(last)}")
    line = next((line for line in done.stdout.splitlines() if line.startswith(mark)), "")
    if not line:
        return Running("importing it failed: the process ended before it answered")
    return Running(**json.loads(line.removeprefix(mark)))
