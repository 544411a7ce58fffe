"""The build matrix as one HTML file that loads nothing else: a heat map, and what is behind each of its cells."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from markupsafe import Markup

from ..model.languages import LANGUAGES
from ..model.matrix import Matrix, MatrixKernel, MatrixLevel
from ..model.plan import BUILT, DISABLED, UNAVAILABLE
from ..rendering import render, template_folder
from .loops import Loop
from .page_data import NOT_COMPILED, build_data, loops_data, state_of
from .speeds import Speeds
from .words import override_text

SCRIPTS = ("matrix_cells.js", "matrix_panel.js", "matrix.js")
# How Python has the bytes of a name that are not UTF-8 (PEP 383).
SURROGATE = re.compile("[\ud800-\udfff]")
# Of JSON inside a script element: what would end the element or start a comment. Only strings hold these characters.
MARKUP = {ord(one): f"\\u{ord(one):04x}" for one in "<>&\u2028\u2029"}


class Part(NamedTuple):
    """One verdict's part of the bar above the matrix, in percent."""

    name: str
    start: float
    share: float


@dataclass(frozen=True)
class Build:
    """What the template shows of one matrix."""

    label: str
    matrix: Matrix
    data: Markup
    loops: Markup

    def verdict(self, kernel: MatrixKernel, level: str) -> str:
        """Return a cell's verdict, and the reason where it is not built."""
        cell = kernel.levels.get(level)
        if cell is None:
            return ""
        state = state_of(cell)
        return f"{state}: {cell.reason}" if cell.reason and state != BUILT else state

    def about(self, level: MatrixLevel) -> str:
        """Return a level's flags, or the reason why it is not built."""
        if level.verdict != BUILT:
            return level.reason
        return "; ".join(f"{language}: {' '.join(flags) or 'none'}" for language, flags in level.flags.items())

    @property
    def _counts(self) -> Counter[str]:
        return Counter(state_of(cell) for _, _, cell in self.matrix.cells())

    @property
    def parts(self) -> list[Part]:
        """The verdicts' parts of all cells."""
        counts, parts, start = self._counts, [], 0.0
        for state in (BUILT, NOT_COMPILED, DISABLED, UNAVAILABLE):
            share = 100 * counts[state] / max(1, counts.total())
            parts.append(Part(state.replace(" ", "-"), round(start, 2), round(share, 2)))
            start += share
        return parts

    @property
    def tally(self) -> list[tuple[str, str]]:
        """The matrix in a line: (text, class) of each part."""
        counts = self._counts
        cells = [cell for _, _, cell in self.matrix.cells()]
        sizes = f"{_count(len(self.matrix.kernels), 'kernel')} \N{MULTIPLICATION SIGN} "
        said = [(sizes + _count(len(self.matrix.levels), "level"), "size")]
        for state in (BUILT, NOT_COMPILED, DISABLED, UNAVAILABLE):
            if counts[state]:
                said.append((f"{counts[state]} {state}", state.replace(" ", "-")))
        if same := sum(bool(cell.same_as) for cell in cells):
            folded = sum(bool(cell.folded) for cell in cells)
            linked = f", {folded} of them linked once" if folded else ""
            said.append((f"{same} identical to a lower level{linked}", "same"))
        if code := sum(cell.code.code_bytes for cell in cells if cell.code is not None and not cell.folded):
            said.append((f"{code / 1e6:,.1f} MB of code" if code > 1e6 else f"{code / 1000:,.0f} kB of code", "code"))
        return said

    @property
    def facts(self) -> list[tuple[str, str, bool]]:
        """What holds for the whole build: (term, text, whether the text is code) of each fact."""
        matrix = self.matrix
        compilers: dict[str, list[str]] = {}
        for language, compiler in matrix.compilers.items():
            name = compiler.name if compiler.version in compiler.name else f"{compiler.name} {compiler.version}"
            compilers.setdefault(name, []).append(LANGUAGES.get(language, language))
        shown = ", ".join(f"{name} ({', '.join(languages)})" for name, languages in compilers.items())
        plain = matrix.optimization in ("", "plain")
        beyond = " ".join(matrix.beyond_architecture)
        baseline = f"{beyond}: every user's CPU must have them ({matrix.baseline_origin})" if beyond else ""
        audited = "yes, when linked" if matrix.audited else f"no: {matrix.audit_reason}"
        facts = [
            ("Compiler", shown or "unknown", False),
            ("Target", f"{matrix.cpu_family} {matrix.system}", False),
            ("Table", matrix.table, True),
            *(
                [("Levels", f"only {matrix.levels[0].name}: {matrix.baseline_only}", False)]
                if matrix.baseline_only
                else []
            ),
            ("Baseline", baseline or "the architecture's own", False),
            ("Optimization", "as the arguments say" if plain else f"-O{matrix.optimization}", not plain),
            ("Override", override_text(matrix) or "none", bool(override_text(matrix))),
            ("Sealed", "yes" if matrix.sealed else f"no: {matrix.seal_reason}", False),
            ("Audited", audited, False),
            ("isagen", matrix.isagen, False),
        ]
        if matrix.lto:
            facts.append(("LTO", "not for kernels: it would merge code of different levels", False))
        return facts


def html_text(
    matrices: Sequence[tuple[str, Matrix]],
    loops: Mapping[tuple[str, str, str], Loop] | None = None,
    speeds: Speeds | None = None,
) -> str:
    """Return the page of matrices, each with the label by which the page lets choose it.

    `loops` are hot loops by label, kernel source and level. Speeds are shown in every matrix that has their kernels.
    """
    builds = []
    for label, matrix in matrices:
        own = {(source, level): loop for (of, source, level), loop in (loops or {}).items() if of == label}
        data, order = build_data(matrix, own, speeds)
        builds.append(Build(label, matrix, _embedded(data), _embedded(loops_data(order))))
    css, *scripts = (_asset(name) for name in ("matrix.css", *SCRIPTS))
    projects = dict.fromkeys(matrix.project or label for label, matrix in matrices)
    text = render(
        "matrix.html.j2",
        builds=builds,
        title=", ".join(projects) or "no build",
        css=Markup(css),
        css_hash=_hash(css),
        scripts=[Markup(script) for script in scripts],
        script_hashes=[_hash(script) for script in scripts],
    )
    return SURROGATE.sub("\N{REPLACEMENT CHARACTER}", text)


def _asset(name: str) -> str:
    return (template_folder() / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    """Return how a policy names a style or script of the page itself, so that no other runs."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _embedded(data: Any) -> Markup:
    """Return data as JSON that may stand in a script element."""
    return Markup(json.dumps(data, ensure_ascii=False, separators=(",", ":")).translate(MARKUP))


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
