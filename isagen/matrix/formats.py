"""The matrix as JSON and Markdown."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from typing import Any

from ..model.matrix import Matrix
from ..model.names import MATRIX_FORMAT
from .words import LEVEL_HEADS, cell_text, facts, level_columns, level_lines, title


def as_data(matrix: Matrix) -> dict[str, Any]:
    """Return a matrix as plain data, which docs/matrix.schema.json describes."""
    return {"format": MATRIX_FORMAT, **asdict(matrix)}


def as_json(matrices: Sequence[tuple[str, Matrix]]) -> str:
    """Return one matrix as an object, and several as a list of objects, each with its label as `where`."""
    if len(matrices) == 1:
        return json.dumps(as_data(matrices[0][1]), indent=2) + "\n"
    return json.dumps([{"where": label, **as_data(matrix)} for label, matrix in matrices], indent=2) + "\n"


def as_markdown(matrices: Sequence[tuple[str, Matrix]]) -> str:
    """Return a section for each matrix, with a table of its levels and a table of its kernels."""
    return "\n".join(line for label, matrix in matrices for line in _section(label, matrix)) + "\n"


def _section(label: str, matrix: Matrix) -> Iterator[str]:
    yield from (f"### {escaped(title(matrix))}", "", escaped(label), "")
    rows = [[*level_columns(matrix, level), "; ".join(level_lines(matrix, level))] for level in matrix.levels]
    yield from markdown_table((*LEVEL_HEADS, "verdict, features and flags"), rows)
    names = [level.name for level in matrix.levels]
    grid = [[kernel.source, *(cell_text(kernel.levels[name]) for name in names)] for kernel in matrix.kernels]
    yield from markdown_table(("kernel", *names), grid)
    yield from (f"- {name}: {escaped(text)}" for name, text in facts(matrix))
    yield ""


def markdown_table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Yield the lines of a table, and an empty line."""
    yield f"| {' | '.join(heads)} |"
    yield f"|{'---|' * len(heads)}"
    yield from (f"| {' | '.join(map(escaped, row))} |" for row in rows)
    yield ""


def escaped(text: str) -> str:
    """Return a text as one line, in which the characters of Markdown's markup are escaped."""
    # Within a word, _ is no markup, and stays as it is.
    return re.sub(r"([\\`*\[\]<>|]|(?<![^\W_])_|_(?![^\W_]))", r"\\\1", " ".join(text.splitlines()))
