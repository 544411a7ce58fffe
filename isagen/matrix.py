"""The build matrix, as people and programs see it: kernels x levels, each with verdict and reason."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from .errors import ProjectError
from .plan import BUILT, DISABLED, UNAVAILABLE

PLAN_FILE = "isa_plan.json"
MATRIX_FORMAT = 1
WITHOUT_LTO = "kernels are compiled without it: it would merge code of different levels"


def find_plans(folder: Path) -> list[Path]:
    """Return the plans of a build folder. Raises `ProjectError` if there is none."""
    if not folder.is_dir():
        raise ProjectError("there is no such folder", where=str(folder), remedy="give the build folder of a project")
    plans = []
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.endswith(".p") and name != "isa_tool")
        if PLAN_FILE in files:
            plans.append(Path(place, PLAN_FILE))
    if not plans:
        raise ProjectError(
            "no build of isagen is here",
            where=str(folder),
            remedy="configure the project first, and give its build folder: meson setup BUILD_DIR",
        )
    return plans


def load_matrix(plan_path: Path) -> dict[str, Any]:
    """Return the matrix of the plan at `plan_path` as plain data; `object` tells whether a level's code is there."""
    try:
        plan = json.loads(plan_path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as problem:
        raise ProjectError(f"the plan cannot be read: {problem}", where=str(plan_path)) from None
    return {
        "format": MATRIX_FORMAT,
        "isagen": plan["isagen"],
        "table": plan["table"],
        "override": plan["override"],
        "cpu_family": plan["cpu_family"],
        "system": plan["system"],
        "optimization": plan["optimization"],
        "lto": plan["lto"],
        "compilers": {language: c["name"] for language, c in plan["compilers"].items()},
        "sealed": not plan["seal"]["reason"],
        "seal_reason": plan["seal"]["reason"],
        "audited": not plan["audit"]["reason"],
        "audit_reason": plan["audit"]["reason"],
        "levels": [
            {**level, "object": (plan_path.parent / f"isa_{level['name']}.json").is_file()} for level in plan["levels"]
        ],
        "kernels": [
            {
                "source": kernel["source"],
                "language": kernel["language"],
                "args": kernel["args"],
                "levels": {
                    cell["level"]: {key: cell[key] for key in ("verdict", "reason", "flags", "copy")}
                    for cell in kernel["cells"]
                },
            }
            for kernel in plan["kernels"]
        ],
    }


def summary_lines(plan: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the lines of Meson's summary: levels, kernels that are not at every level, sealing, LTO if any."""
    lines = [("table", plan["table"])]
    kernels = plan["kernels"]
    for number, level in enumerate(plan["levels"]):
        built = sum(kernel["cells"][number]["verdict"] == BUILT for kernel in kernels)
        if level["verdict"] == BUILT:
            flags = " ".join(dict.fromkeys(flag for flags in level["flags"].values() for flag in flags))
            text = f"{built} of {_count(len(kernels), 'kernel')}, {flags or 'no flags: the baseline of the compiler'}"
        else:
            text = f"{level['verdict']}: {level['reason']}"
        lines.append((level["name"], text))
    names = [level["name"] for level in plan["levels"] if level["verdict"] == BUILT]
    for kernel in kernels:
        own = [cell["level"] for cell in kernel["cells"] if cell["verdict"] == BUILT]
        if own != names:
            lines.append((kernel["source"], "only " + " ".join(own)))
    lines.append(("sealed", f"no: {plan['seal']['reason']}" if plan["seal"]["reason"] else "yes"))
    lines.append(("audited", _audited(plan["audit"])))
    if plan["lto"]:
        lines.append(("lto", WITHOUT_LTO))
    return lines


def _audited(audit: Mapping[str, Any]) -> str:
    if audit["reason"]:
        return f"not when linked: {audit['reason']}; `isagen audit` does"
    return "when linked" + (", with warnings only" if audit["mode"] == "warn" else "")


def print_matrix(matrix: dict[str, Any]) -> None:
    """Print the matrix as a table for a terminal."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(highlight=False, soft_wrap=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=max(console.width, 160))
    styles = {BUILT: "green", UNAVAILABLE: "red", DISABLED: "yellow"}
    marks = {BUILT: "built", UNAVAILABLE: "unavail.", DISABLED: "disabled"}
    names = [level["name"] for level in matrix["levels"]]

    grid = Table(title=f"kernels x levels of table {matrix['table']}", title_justify="left")
    grid.add_column("kernel", overflow="fold")
    for name in names:
        grid.add_column(name, no_wrap=True)
    for kernel in matrix["kernels"]:
        verdicts = [kernel["levels"][name]["verdict"] for name in names]
        grid.add_row(Text(kernel["source"]), *(Text(marks[v], style=styles[v]) for v in verdicts))
    console.print(grid)

    detail = Table(title="levels", title_justify="left")
    for heading in ("level", "verdict", "flags, or the reason why not"):
        detail.add_column(heading, overflow="fold", no_wrap=heading != "flags, or the reason why not")
    for level in matrix["levels"]:
        verdict = level["verdict"]
        shown = "built" if level["object"] or verdict != BUILT else "not compiled yet"
        detail.add_row(
            level["name"], Text(shown if verdict == BUILT else verdict, style=styles[verdict]), Text(_detail(level))
        )
    console.print(detail)
    for line in _notes(matrix):
        console.print(Text(line))


def _detail(level: dict[str, Any]) -> str:
    if level["verdict"] != BUILT:
        return str(level["reason"])
    parts = [f"{language}: {' '.join(flags) or '(no flags)'}" for language, flags in level["flags"].items()]
    for language, dropped in level["dropped"].items():
        parts += [f"{language}: without {flag} ({reason})" for flag, reason in dropped]
    return "\n".join(parts)


def _notes(matrix: dict[str, Any]) -> Iterable[str]:
    yield "compilers: " + ", ".join(f"{name} ({language})" for language, name in matrix["compilers"].items())
    plain = matrix["optimization"] in ("", "plain")
    yield "optimization: as the compiler arguments say" if plain else f"optimization: -O{matrix['optimization']}"
    yield "sealed: " + ("yes" if matrix["sealed"] else f"no, {matrix['seal_reason']}")
    yield "audited: " + ("yes, when linked" if matrix["audited"] else f"no, {matrix['audit_reason']}")
    if matrix["lto"]:
        yield f"lto: {WITHOUT_LTO}"
    if matrix["override"]:
        yield f"override at run time: {matrix['override']}=LEVEL"
    for kernel in matrix["kernels"]:
        for name, cell in kernel["levels"].items():
            if cell["verdict"] == DISABLED:
                yield f"{kernel['source']} at {name}: disabled {cell['reason']}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
