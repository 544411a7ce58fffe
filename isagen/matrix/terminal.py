"""The build matrix in a terminal: as tables where they fit, as lists where they do not. Nothing is cut off."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from typing import TextIO

from rich.text import Text

from ..model.matrix import Matrix, MatrixCell
from ..model.plan import BUILT, DISABLED, UNAVAILABLE
from ..model.printable import CONTROLS
from .words import LEVEL_HEADS, TO_BUILD, cell_text, disabled, facts, level_columns, level_lines, title, verdict_text

STYLES = {BUILT: "green", UNAVAILABLE: "red", DISABLED: "yellow", TO_BUILD: "cyan"}
PIPED = 100  # columns where nothing tells how many there are
NARROWEST = 32  # columns that the last column of a table needs; with fewer, a list is easier to read
GAP = "  "
TOGETHER = "\N{NO-BREAK SPACE}"  # a space at which no line ends

# A line: parts of text, each with its style.
Line = list[tuple[str, str]]


def print_matrix(matrix: Matrix, label: str = "", stream: TextIO | None = None) -> None:
    """Print a matrix for people, below its `label` where there are several."""
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False, file=stream)
    width = console.width if console.is_terminal or "COLUMNS" in os.environ else PIPED
    console.width = width = max(1, width)  # with COLUMNS=0, rich prints nothing
    for line in matrix_lines(matrix, label, width):
        text: Text = Text.assemble(*((part.translate(CONTROLS), style) for part, style in line))
        text.rstrip()
        console.print(text, soft_wrap=True)


def matrix_lines(matrix: Matrix, label: str, width: int) -> Iterator[Line]:
    """Yield the lines of a matrix for a terminal of `width` columns."""
    if label:
        yield [(label, "bold underline")]
    yield from _wrapped(title(matrix), width, style="bold")
    yield []
    yield from _levels(matrix, width)
    yield []
    yield from _kernels(matrix, width)
    yield []
    for name, text in facts(matrix):
        yield from _wrapped(f"{name}: {text}", width, hanging=2)
    for source, where in disabled(matrix):
        yield from _wrapped(f"{source}: disabled {where}", width, hanging=2)


def _levels(matrix: Matrix, width: int) -> Iterator[Line]:
    rows = [level_columns(matrix, level) for level in matrix.levels]
    sizes = [max([len(head), *(len(row[column]) for row in rows)]) for column, head in enumerate(LEVEL_HEADS[:-1])]
    before = sum(sizes) + len(GAP) * len(sizes)
    if width - before < NARROWEST:
        yield from _level_list(matrix, rows, width)
        return
    yield [(_row(LEVEL_HEADS, sizes), "bold")]
    for level, row in zip(matrix.levels, rows, strict=True):
        shown = level_lines(matrix, level)
        first, *rest = _folded(shown, width - before)
        style = STYLES[verdict_text(level)]
        cells = _cells(row, sizes)
        yield [(cells[0] + GAP, ""), (cells[1] + GAP, style), (GAP.join(cells[2:]) + GAP, ""), (first, "")]
        yield from ([(" " * before + line, "")] for line in rest)


def _level_list(matrix: Matrix, rows: Iterable[Sequence[str]], width: int) -> Iterator[Line]:
    """Yield the levels, each with its facts below its name."""
    for level, (name, verdict, kernels, code, bits) in zip(matrix.levels, rows, strict=True):
        yield [(name + GAP, "bold"), (verdict, STYLES[verdict])]
        facts_of = [
            kernels and f"{kernels} kernels",
            code and f"{code} of code",
            bits and f"widest register: {bits}",
        ]
        if any(facts_of):
            yield from _wrapped("  " + ", ".join(fact for fact in facts_of if fact), width, hanging=2)
        for line in level_lines(matrix, level):
            yield from _wrapped("  " + line, width, hanging=4)


def _kernels(matrix: Matrix, width: int) -> Iterator[Line]:
    names = [level.name for level in matrix.levels]
    compiled = {level.name: level.compiled is not False for level in matrix.levels}
    rows = [
        [kernel.source, *(cell_text(kernel.levels[name], compiled[name]) for name in names)]
        for kernel in matrix.kernels
    ]
    heads = ["kernel", *names]
    sizes = [max([len(head), *(len(row[column]) for row in rows)]) for column, head in enumerate(heads)]
    if sum(sizes) + len(GAP) * (len(sizes) - 1) > width:
        yield from _kernel_list(matrix, names, rows, width)
        return
    yield [(_row(heads, sizes, right=True), "bold")]
    for kernel, row in zip(matrix.kernels, rows, strict=True):
        first, *cells = _cells(row, sizes, right=True)
        styles = [_style(kernel.levels[name], compiled[name]) for name in names]
        yield [(first, ""), *((GAP + cell, style) for cell, style in zip(cells, styles, strict=True))]


def _kernel_list(matrix: Matrix, names: Sequence[str], rows: Iterable[Sequence[str]], width: int) -> Iterator[Line]:
    """Yield the kernels, each with its levels below its name."""
    for kernel, (source, *cells) in zip(matrix.kernels, rows, strict=True):
        yield [(source, "bold")]
        groups: dict[str, list[str]] = {}
        for name, cell in zip(names, cells, strict=True):
            if kernel.levels[name].verdict == BUILT:
                groups.setdefault("", []).append(f"{name} {cell}".replace(" ", TOGETHER))
            else:
                groups.setdefault(kernel.levels[name].verdict + ": ", []).append(name)
        for verdict, found in groups.items():
            yield from _wrapped(f"  {verdict}{', '.join(found)}", width, hanging=4)


def _style(cell: MatrixCell, compiled: bool) -> str:
    if cell.verdict == BUILT and cell.same_as:
        return "dim"
    return STYLES[cell.verdict if compiled or cell.verdict != BUILT else TO_BUILD]


def _row(texts: Sequence[str], sizes: Sequence[int], right: bool = False) -> str:
    return GAP.join([*_cells(texts, sizes, right), *texts[len(sizes) :]])


def _cells(texts: Sequence[str], sizes: Sequence[int], right: bool = False) -> list[str]:
    """Return texts of the columns' sizes; numbers stand at the right, which are all but the first two columns."""
    return [
        text.rjust(size) if number >= (1 if right else 2) else text.ljust(size)
        for number, (text, size) in enumerate(zip(texts, sizes, strict=False))
    ]


def _folded(lines: Iterable[str], width: int) -> list[str]:
    return [part for line in lines for part in _wrap(line, width, "  ")]


def _wrapped(text: str, width: int, hanging: int = 0, style: str = "") -> Iterator[Line]:
    yield from ([(line, style)] for line in _wrap(text, width, " " * hanging))


def _wrap(text: str, width: int, hanging: str) -> list[str]:
    """Return a text in lines of `width` columns; words that are longer stay whole."""
    indent = text[: len(text) - len(text.lstrip(" "))]
    lines = textwrap.wrap(
        text.strip(" "),
        width,
        initial_indent=indent,
        subsequent_indent=hanging,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [line.replace(TOGETHER, " ") for line in lines] or [""]
