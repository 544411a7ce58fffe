"""The matrix as JSON, CSV and Markdown."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from ..model.matrix import MATRIX_FORMAT, Matrix
from ..model.plan import BUILT
from .words import LEVEL_HEADS, cell_text, facts, level_columns, level_lines, title

COLUMNS = (
    *("where", "project", "kernel", "language", "level", "verdict", "reason", "compiled", "stubs", "loaded_bytes"),
    *("code_bytes", "instructions", "widest", "families", "same_as", "folded", "seconds", "flags"),
)


def as_data(matrix: Matrix) -> dict[str, Any]:
    """Return a matrix as plain data: docs/matrix.schema.json."""
    return {"format": MATRIX_FORMAT, **asdict(matrix)}


def as_json(matrices: Sequence[tuple[str, Matrix]]) -> str:
    """Return one matrix as an object, several as a list of objects, each with the place `where` it is."""
    if len(matrices) == 1:
        return json.dumps(as_data(matrices[0][1]), indent=2) + "\n"
    return json.dumps([{"where": label, **as_data(matrix)} for label, matrix in matrices], indent=2) + "\n"


def as_csv(matrices: Sequence[tuple[str, Matrix]]) -> str:
    """Return a line per cell, below the names of the columns."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for label, matrix in matrices:
        compiled = {level.name: level.compiled for level in matrix.levels}
        for kernel, level, cell in matrix.cells():
            code = cell.code
            writer.writerow(
                (
                    *(label, matrix.project, kernel.source, kernel.language, level, cell.verdict, cell.reason),
                    {True: "yes", False: "no", None: ""}[compiled[level] if cell.verdict == BUILT else None],
                    " ".join(cell.stubs or ()),
                    *((code.loaded_bytes, code.code_bytes) if code is not None else ("", "")),
                    *(
                        (code.instructions, code.widest)
                        if code is not None and code.instructions is not None
                        else ("", "")
                    ),
                    " ".join(f"{name}:{count}" for name, count in (code.families if code is not None else {}).items()),
                    cell.same_as,
                    cell.folded,
                    "" if cell.seconds is None else cell.seconds,
                    " ".join(cell.flags),
                )
            )
    return text.getvalue()


def as_markdown(matrices: Sequence[tuple[str, Matrix]]) -> str:
    """Return a section per matrix, with a table of its levels and one of its kernels."""
    return "\n".join(line for label, matrix in matrices for line in _section(label, matrix)) + "\n"


def _section(label: str, matrix: Matrix) -> Iterator[str]:
    yield f"### {_escaped(title(matrix))}"
    yield ""
    yield _escaped(label)
    yield ""
    rows = [[*level_columns(matrix, level), "; ".join(level_lines(matrix, level))] for level in matrix.levels]
    yield from _table(LEVEL_HEADS, rows)
    yield ""
    compiled = {level.name: level.compiled is not False for level in matrix.levels}
    names = [level.name for level in matrix.levels]
    grid = [[k.source, *(cell_text(k.levels[name], compiled[name]) for name in names)] for k in matrix.kernels]
    yield from _table(("kernel", *names), grid)
    yield ""
    for name, text in facts(matrix):
        yield f"- {name}: {_escaped(text)}"
    yield ""


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(map(_escaped, heads))} |"
    yield f"|{'---|' * len(heads)}"
    for row in rows:
        yield f"| {' | '.join(map(_escaped, row))} |"


def _escaped(text: str) -> str:
    """Return a text in which Markdown finds no markup."""
    for character in "\\`*_{}[]<>|#":
        text = text.replace(character, "\\" + character)
    return text.replace("\n", " ")
