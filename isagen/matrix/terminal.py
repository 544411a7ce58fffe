"""Prints the build matrix: a grid of kernels and levels, a line for each level, and the facts of the build."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from textwrap import TextWrapper
from typing import TextIO

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.table import Table
from rich.text import Text

from ..model.matrix import LevelRow, Matrix, MatrixCell
from ..model.plan import BUILT, DISABLED, UNAVAILABLE
from ..model.printable import CONTROLS
from .selection import Selection
from .words import (
    NOT_COMPILED,
    code_bytes,
    count_text,
    disabled_levels,
    facts,
    flags_text,
    level_cells,
    own_features,
    shared_stubs,
    size_text,
    state_of,
    state_text,
    widest,
    width_text,
)

SAME = "same code as a lower level"
LINKED_AGAIN = "same code, linked again"
# The mark and the style of a cell, by its state.
MARKS = {
    BUILT: ("+", "green"),
    SAME: ("=", "dim"),
    LINKED_AGAIN: ("*", "dim"),
    NOT_COMPILED: ("?", "cyan"),
    DISABLED: ("-", "yellow"),
    UNAVAILABLE: ("!", "red"),
}
PIPED = 100  # the width in columns of an output that is no terminal, if COLUMNS is not set
NARROWEST = 40  # the smallest width in columns: terminals with less wrap the lines themselves


def print_matrix(
    matrix: Matrix, label: str = "", stream: TextIO | None = None, here: Selection | None = None, flags: bool = False
) -> None:
    """Print a matrix under its `label`. `here` adds the level that this machine selects, `flags` the levels' flags."""
    console = Console(highlight=False, file=stream)
    console.file.write(printed(console, *_parts(matrix, label, here, flags)))


def printed(console: Console, *parts: RenderableType) -> str:
    """Return what a console prints for `parts`, without blanks at the ends of lines."""
    console.width = max(NARROWEST, console.width if console.is_terminal or "COLUMNS" in os.environ else PIPED)
    with console.capture() as captured:
        for part in parts:
            console.print(part, crop=False)
    return re.sub(" +$", "", captured.get(), flags=re.MULTILINE)


def _parts(matrix: Matrix, label: str, here: Selection | None, flags: bool) -> Iterator[RenderableType]:
    if label:
        yield _text(label, "bold underline")
    size = f"{count_text(len(matrix.kernels), 'kernel')} x {count_text(len(matrix.levels), 'level')}"
    yield _text(f"{matrix.project}: {size} of table {matrix.table}", "bold")
    if matrix.kernels:
        yield ""
        yield _grid(matrix)
        shown = {level.name for level in _shown(matrix)}
        states = {_state(cell) for _, level, cell in matrix.cells() if level in shown}
        marks = ((state, *MARKS[state]) for state in MARKS if state in states)
        yield Text("   ").join(Text(f"{mark} {state}", style) for state, mark, style in marks)
    yield ""
    yield _levels(matrix)
    if flags:
        yield ""
        yield from (_Fact(one.name, "; ".join(flags_text(one))) for one in matrix.levels if one.verdict == BUILT)
    yield ""
    if here is not None and not here.problem:
        yield _Fact("runs here", _selected(here), "bold")
    if names := disabled_levels(matrix.levels):
        yield _Fact("disabled", names)
    yield from (_Fact(*fact) for fact in facts(matrix))
    yield from (_Fact(f"stub {stub}", where) for stub, where in shared_stubs(matrix))


@dataclass(frozen=True)
class _Fact:
    """A line `name: text`. If it is wrapped, its further lines are indented."""

    name: str
    text: str
    style: str = ""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        wrapper = TextWrapper(options.max_width, subsequent_indent="    ")
        wrapper.break_long_words = wrapper.break_on_hyphens = False
        yield Text(wrapper.fill(f"{self.name}: {self.text}".translate(CONTROLS)), self.style)


def _selected(here: Selection) -> str:
    if not here.selected:
        return "nothing: CPU or OS lack features of every level that is built and allowed"
    override = f"{here.variable}={here.override}"
    if here.asked == here.selected:
        return f"{here.selected}, as {override} says"
    allows = f" and that {override} allows" if here.excluded else ""
    return f"{here.selected}, the best built level that CPU and OS support{allows}"


def _text(text: str, style: str = "") -> Text:
    return Text(text.translate(CONTROLS), style)


def _table(gap: int) -> Table:
    return Table(box=None, padding=(0, gap, 0, 0), pad_edge=False, header_style="bold")


def _grid(matrix: Matrix) -> Table:
    """Return the grid with a mark for each kernel at each level; a column's head is the level's number in `_levels`."""
    table = _table(1)
    table.add_column("", overflow="fold")
    levels = _shown(matrix)
    for number in range(1, len(levels) + 1):
        table.add_column(str(number), no_wrap=True)
    for kernel in matrix.kernels:
        cells = (MARKS[_state(kernel.levels[level.name])] for level in levels)
        table.add_row(_text(kernel.source), *(Text(mark, style) for mark, style in cells))
    return table


def _shown(matrix: Matrix) -> list[LevelRow]:
    """Return the levels that are not disabled; all disabled levels share one line."""
    return [level for level in matrix.levels if level.verdict != DISABLED]


def _state(cell: MatrixCell) -> str:
    return SAME if cell.folded else LINKED_AGAIN if cell.same_as else state_of(cell)


def _levels(matrix: Matrix) -> Table:
    table = _table(2)
    for head in ("", "level", "code", "widest"):
        table.add_column(head, justify="left" if head == "level" else "right", no_wrap=True)
    table.add_column("", overflow="fold")
    for number, level in enumerate(_shown(matrix), 1):
        cells, state = level_cells(matrix, level.name), state_of(level)
        code, bits = code_bytes(cells), widest(cells)
        sizes = "" if code is None else size_text(code), "" if bits is None else width_text(bits)
        lines = [] if state == BUILT else [state_text(level)]
        if level.verdict == BUILT and (own := own_features(matrix, level)):
            lines.append(f"{'adds' if level.requires else 'needs'} {' '.join(own)}")
        details = Text("\n").join(map(_text, lines))
        table.add_row(str(number), _text(level.name, MARKS[state][1]), *sizes, details)
    return table
