"""The build matrix as one HTML file that loads no other: a heat map in which a click on a cell shows details."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from ..model.matrix import Matrix, MatrixKernel
from ..model.plan import BUILT
from ..rendering import render, template_folder
from .loops import Loop
from .page_data import STATES, Times, build_data, state_of
from .words import count_text, facts, flags_text, size_text

SCRIPTS = ("matrix_cells.js", "matrix_panel.js", "matrix.js")
# Python's characters for bytes that are not UTF-8 (PEP 383), and other lone surrogates.
SURROGATE = re.compile("[\ud800-\udfff]")
# Characters that would end a script element or start a comment in it. In JSON, they occur only in strings.
MARKUP = {ord(character): f"\\u{ord(character):04x}" for character in "<>&\u2028\u2029"}


@dataclass(frozen=True)
class Page:
    """One matrix, with the values that the template needs."""

    label: str
    matrix: Matrix
    facts: list[tuple[str, str]]
    data: Markup
    loops: Markup

    def verdict(self, kernel: MatrixKernel, level: str) -> str:
        """Return a cell's verdict, and the reason if it is not built."""
        cell = kernel.levels.get(level)
        if cell is None:
            return ""
        state = state_of(cell)
        return f"{state}: {cell.reason}" if cell.reason and state != BUILT else state

    @property
    def shares(self) -> list[tuple[str, float]]:
        """The parts of the bar above the matrix: (class, percent of all cells) for each verdict."""
        counts = self._counts
        return [(_class(state), round(100 * counts[state] / max(1, counts.total()), 2)) for state in STATES]

    @property
    def tally(self) -> list[tuple[str, str]]:
        """The parts of the line about the whole matrix, each (text, class)."""
        cells = [cell for _, _, cell in self.matrix.cells()]
        kernels, levels = count_text(len(self.matrix.kernels), "kernel"), count_text(len(self.matrix.levels), "level")
        parts = [(f"{kernels} \N{MULTIPLICATION SIGN} {levels}", "size")]
        counts = self._counts
        parts += [(f"{counts[state]} {state}", _class(state)) for state in STATES if counts[state]]
        if same := sum(bool(cell.same_as) for cell in cells):
            folded = sum(bool(cell.folded) for cell in cells)
            linked = f", {folded} of them linked once" if folded else ""
            parts.append((f"{same} identical to a lower level{linked}", "same"))
        if code := sum(cell.code.code_bytes for cell in cells if cell.code is not None and not cell.folded):
            parts.append((f"{size_text(code)} of code", "code"))
        return parts

    @property
    def _counts(self) -> Counter[str]:
        return Counter(state_of(cell) for _, _, cell in self.matrix.cells())


def html_text(
    matrices: Sequence[tuple[str, Matrix]],
    loops: Mapping[tuple[str, str, str], Loop] | None = None,
    times: Times | None = None,
) -> str:
    """Return the page of matrices, each with its label in the page's menu.

    `loops` are hot loops by label, kernel source and level. Every matrix that has the kernels of `times` shows them.
    """
    builds = []
    for label, matrix in matrices:
        own = {(source, level): loop for (of, source, level), loop in (loops or {}).items() if of == label}
        data, shown = build_data(matrix, own, times or {})
        builds.append(Page(label, matrix, list(facts(matrix)), _embedded(data), _embedded(shown)))
    css, *scripts = ((template_folder() / name).read_text(encoding="utf-8") for name in ("matrix.css", *SCRIPTS))
    projects = dict.fromkeys(matrix.project or label for label, matrix in matrices)
    text = render(
        "matrix.html.j2",
        builds=builds,
        flags_text=flags_text,
        title=", ".join(projects) or "no build",
        css=Markup(css),
        css_hash=_hash(css),
        scripts=[Markup(script) for script in scripts],
        script_hashes=[_hash(script) for script in scripts],
    )
    return SURROGATE.sub("\N{REPLACEMENT CHARACTER}", text)


def _class(state: str) -> str:
    """Return the class of a verdict in the style sheet."""
    return state.replace(" ", "-")


def _hash(text: str) -> str:
    """Return the hash of a style or script for the page's Content-Security-Policy, which allows no other ones."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _embedded(data: Any) -> Markup:
    """Return data as JSON for a script element."""
    return Markup(json.dumps(data, ensure_ascii=False, separators=(",", ":")).translate(MARKUP))
