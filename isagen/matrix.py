"""The build matrix, as people and programs see it: kernels x levels, each with verdict and reason."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from .model.names import registrations_name
from .model.plan import BUILT, DISABLED, UNAVAILABLE, Build, LinkAudit
from .model.plan_file import read_plan

MATRIX_FORMAT = 1
WITHOUT_LTO = "kernels are compiled without it: it would merge code of different levels"


def load_matrix(plan_path: Path) -> dict[str, Any]:
    """Return the matrix of the plan at `plan_path` as plain data; `object` tells whether a level's code is there."""
    build = read_plan(plan_path)
    return {
        "format": MATRIX_FORMAT,
        "isagen": build.isagen,
        "table": build.plan.table,
        "override": build.plan.override,
        "cpu_family": build.cpu_family,
        "system": build.system,
        "optimization": build.optimization,
        "lto": build.lto,
        "compilers": {language: compiler.name for language, compiler in build.compilers.items()},
        "sealed": build.sealing.usable,
        "seal_reason": build.sealing.reason,
        "audited": build.link_audit.active,
        "audit_reason": build.link_audit.reason,
        "levels": [
            {**asdict(level), "object": (plan_path.parent / registrations_name(level.name)).is_file()}
            for level in build.plan.levels
        ],
        "kernels": [
            {
                "source": kernel.source,
                "language": kernel.language,
                "args": kernel.args,
                "levels": {
                    cell.level: {
                        "verdict": cell.verdict,
                        "reason": cell.reason,
                        "flags": cell.flags,
                        "copy": cell.copy,
                    }
                    for cell in kernel.cells
                },
            }
            for kernel in build.plan.kernels
        ],
    }


def summary_lines(build: Build) -> list[tuple[str, str]]:
    """Return the lines of Meson's summary: levels, kernels that are not at every level, sealing, LTO if any."""
    plan = build.plan
    lines = [("table", plan.table)]
    for number, level in enumerate(plan.levels):
        built = sum(kernel.cells[number].verdict == BUILT for kernel in plan.kernels)
        if level.verdict == BUILT:
            flags = " ".join(dict.fromkeys(flag for flags in level.flags.values() for flag in flags))
            kernels = _count(len(plan.kernels), "kernel")
            text = f"{built} of {kernels}, {flags or 'no flags: the baseline of the compiler'}"
        else:
            text = f"{level.verdict}: {level.reason}"
        lines.append((level.name, text))
    names = [level.name for level in plan.levels if level.verdict == BUILT]
    for kernel in plan.kernels:
        own = [cell.level for cell in kernel.cells if cell.verdict == BUILT]
        if own != names:
            lines.append((kernel.source, "only " + " ".join(own)))
    lines.append(("sealed", "yes" if build.sealing.usable else f"no: {build.sealing.reason}"))
    lines.append(("audited", _audited(build.link_audit)))
    if build.lto:
        lines.append(("lto", WITHOUT_LTO))
    return lines


def _audited(audit: LinkAudit) -> str:
    if audit.reason:
        return f"not when linked: {audit.reason}; `isagen audit` does"
    return "when linked" + (", with warnings only" if audit.mode == "warn" else "")


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
