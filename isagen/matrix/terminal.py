"""The build matrix in a terminal: as tables where they fit, as lists where they do not. Nothing is cut off."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TextIO

from rich.columns import Columns
from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from ..model.matrix import Matrix, MatrixCell
from ..model.plan import BUILT, DISABLED, UNAVAILABLE
from ..model.printable import CONTROLS
from .words import LEVEL_HEADS, TO_BUILD, cell_text, disabled, facts, level_columns, level_lines, title, verdict_text

STYLES = {BUILT: "green", UNAVAILABLE: "red", DISABLED: "yellow", TO_BUILD: "cyan"}
PIPED = 100  # columns of an output that is no terminal
NARROWEST = 40  # columns that lines are wrapped at; a terminal with fewer wraps them itself
WIDE = 90  # columns that a table of levels needs; with fewer, a list is easier to read


def print_matrix(matrix: Matrix, label: str = "", stream: TextIO | None = None) -> None:
    """Print a matrix for people, below its `label` where there are several."""
    console = Console(highlight=False, file=stream)
    console.width = max(NARROWEST, console.width if console.is_terminal or "COLUMNS" in os.environ else PIPED)
    for part in _parts(matrix, label, console):
        console.print(part, crop=False)


def _parts(matrix: Matrix, label: str, console: Console) -> Iterator[RenderableType]:
    """Yield the parts of the output."""
    if label:
        yield _text(label, "bold underline")
    yield _text(title(matrix), "bold")
    yield ""
    if console.width >= WIDE:
        yield _levels(matrix)
    else:
        yield from _level_list(matrix)
    yield ""
    kernels = _kernels(matrix)
    if console.measure(kernels, options=console.options.update(max_width=1 << 20)).maximum <= console.width:
        yield kernels
    else:
        yield from _kernel_list(matrix)
    yield ""
    for name, text in facts(matrix):
        yield _text(f"{name}: {text}")
    for source, where in disabled(matrix):
        yield _text(f"{source}: disabled {where}")


def _text(text: str, style: str = "") -> Text:
    return Text(text.translate(CONTROLS), style)


def _table() -> Table:
    return Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="bold")


def _levels(matrix: Matrix) -> Table:
    table = _table()
    for number, head in enumerate(LEVEL_HEADS):
        last = head == LEVEL_HEADS[-1]
        table.add_column(head, justify="left" if last or number < 2 else "right", no_wrap=not last)
    for level in matrix.levels:
        name, verdict, *rest = map(_text, level_columns(matrix, level))
        verdict.style = STYLES[verdict_text(level)]
        table.add_row(name, verdict, *rest, Text("\n").join(map(_text, level_lines(matrix, level))))
    return table


def _level_list(matrix: Matrix) -> Iterator[RenderableType]:
    """Yield the levels, each with its facts below its name."""
    for level in matrix.levels:
        name, verdict, kernels, code, bits = level_columns(matrix, level)
        yield Text.assemble(_text(f"{name}  ", "bold"), _text(verdict, STYLES[verdict]))
        said = (kernels and f"{kernels} kernels", code and f"{code} of code", bits and f"widest register: {bits}")
        for line in (", ".join(filter(None, said)), *level_lines(matrix, level)):
            if line:
                yield Padding(_text(line), (0, 0, 0, 2), expand=False)


def _kernels(matrix: Matrix) -> Table:
    table = _table()
    for head in ("kernel", *(level.name for level in matrix.levels)):
        table.add_column(head, justify="left" if head == "kernel" else "right", no_wrap=True)
    for kernel in matrix.kernels:
        cells = [(kernel.levels[level.name], level.compiled is not False) for level in matrix.levels]
        table.add_row(_text(kernel.source), *(_text(cell_text(*one), _style(*one)) for one in cells))
    return table


def _kernel_list(matrix: Matrix) -> Iterator[RenderableType]:
    """Yield the kernels, each with its levels below its name."""
    for kernel in matrix.kernels:
        yield Text(kernel.source.translate(CONTROLS), "bold", overflow="ignore")  # one line, to be searched for
        built, others = [], dict[str, list[str]]()
        for level in matrix.levels:
            cell, compiled = kernel.levels[level.name], level.compiled is not False
            if cell.verdict == BUILT:
                built.append(_text(f"{level.name} {cell_text(cell, compiled)}", _style(cell, compiled)))
            else:
                others.setdefault(cell.verdict, []).append(level.name)
        yield Padding(Columns(built, padding=(0, 2)), (0, 0, 0, 2))
        for verdict, names in others.items():
            yield Padding(_text(f"{verdict}: {', '.join(names)}", STYLES[verdict]), (0, 0, 0, 2), expand=False)


def _style(cell: MatrixCell, compiled: bool) -> str:
    if cell.verdict == BUILT and cell.same_as:
        return "dim"
    return STYLES[cell.verdict if compiled or cell.verdict != BUILT else TO_BUILD]
