"""The build matrix as tables in a terminal."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..model.plan import BUILT, DISABLED, UNAVAILABLE
from .summary import NEEDED, WITHOUT_LTO


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
    if matrix["beyond_architecture"]:
        yield f"baseline: {' '.join(matrix['beyond_architecture'])} ({matrix['baseline_origin']}): {NEEDED}"
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
