"""Build matrices as one HTML file that loads no other file: heat maps, where a click on a cell shows details."""

from __future__ import annotations

import base64
import hashlib
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from jinja2.utils import htmlsafe_json_dumps
from markupsafe import Markup

from ..model.matrix import Matrix, MatrixCell
from ..model.plan import BUILT, DISABLED, UNAVAILABLE
from ..rendering import render, template_folder
from .loops import Loop
from .words import NOT_COMPILED, count_text, facts, flags_text, own_features, size_text, state_of, state_text

STATES = (BUILT, NOT_COMPILED, DISABLED, UNAVAILABLE)
SCRIPTS = ("matrix_cells.js", "matrix_panel.js", "matrix.js")
COMPACT: Any = {"ensure_ascii": False, "separators": (",", ":")}  # options of `json.dumps`
# Lone surrogates, which no page can contain. Python uses some of them for bytes that are not UTF-8 (PEP 383).
SURROGATE = re.compile("[\ud800-\udfff]")


def html_text(builds: Sequence[tuple[str, Matrix, Mapping[tuple[str, str], Loop]]]) -> str:
    """Return the page of `builds`, each as (label in the page's menu, matrix, hot loops by kernel source and level)."""
    css, *scripts = ((template_folder() / name).read_text(encoding="utf-8") for name in ("matrix.css", *SCRIPTS))
    projects = dict.fromkeys(matrix.project or label for label, matrix, _ in builds)
    text = render(
        "matrix.html.j2",
        builds=[_build(label, matrix, loops) for label, matrix, loops in builds],
        flags_text=flags_text,
        verdict=state_text,
        title=", ".join(projects) or "no build",
        css=Markup(css),
        css_hash=_hash(css),
        scripts=[Markup(script) for script in scripts],
        script_hashes=[_hash(script) for script in scripts],
    )
    return SURROGATE.sub("\N{REPLACEMENT CHARACTER}", text)


def _build(label: str, matrix: Matrix, loops: Mapping[tuple[str, str], Loop]) -> dict[str, Any]:
    cells = [cell for _, _, cell in matrix.cells()]
    counts = Counter(map(state_of, cells))
    kernels, levels = count_text(len(matrix.kernels), "kernel"), count_text(len(matrix.levels), "level")
    tally = [(f"{kernels} \N{MULTIPLICATION SIGN} {levels}", "size")]
    tally += [(f"{counts[state]} {state}", _class(state)) for state in STATES if counts[state]]
    if same := sum(bool(cell.same_as) for cell in cells):
        folded = sum(bool(cell.folded) for cell in cells)
        linked = f", {folded} of them linked once" if folded else ""
        tally.append((f"{same} identical to a lower level{linked}", "same"))
    if code := sum(cell.code.code_bytes for cell in cells if cell.code is not None and not cell.folded):
        tally.append((f"{size_text(code)} of code", "code"))
    data, shown_loops = build_data(matrix, loops)
    return {
        "label": label,
        "matrix": matrix,
        "facts": list(facts(matrix)),
        "data": htmlsafe_json_dumps(data, **COMPACT),
        "loops": htmlsafe_json_dumps(shown_loops, **COMPACT),
        "shares": [(_class(state), round(100 * counts[state] / max(1, len(cells)), 2)) for state in STATES],
        "tally": tally,
    }


def _class(state: str) -> str:
    return state.replace(" ", "-")


def _hash(text: str) -> str:
    """Return a hash for the page's Content-Security-Policy, which allows no style sheet or script without its hash."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


# ---- the data: each list of flags, and each loop, is listed once, and cells contain its index


def build_data(matrix: Matrix, loops: Mapping[tuple[str, str], Loop]) -> tuple[dict[str, Any], list[Any]]:
    """Return a matrix as data for the scripts, and the list of its hot `loops`; the data refer to loops by index."""
    flags: dict[tuple[str, ...], int] = {}
    loop_numbers: dict[Loop, int] = {}

    def cell_data(source: str, level: str, cell: MatrixCell) -> dict[str, Any]:
        code, loop = cell.code, loops.get((source, level))
        return {
            "state": state_of(cell),
            "reason": cell.reason,
            "flags": flags.setdefault(cell.flags, len(flags)),
            "copy": cell.copy,
            "stubs": cell.stubs,
            "code": {**vars(code), "digest": bool(code.digest)} if code is not None else None,
            "same_as": cell.same_as,
            "folded": cell.folded,
            "loop": loop_numbers.setdefault(loop, len(loop_numbers)) if loop is not None else None,
        }

    codes = [cell.code for _, _, cell in matrix.cells() if cell.code is not None]
    kernels = [
        {
            "source": kernel.source,
            "language": kernel.language,
            "args": kernel.args,
            "cells": [cell_data(kernel.source, level.name, kernel.levels[level.name]) for level in matrix.levels],
        }
        for kernel in matrix.kernels
    ]
    data = {
        "project": matrix.project,
        "states": STATES,
        "features": list(dict.fromkeys(name for code in codes for name in code.families)),
        "levels": [{**vars(level), "own": own_features(matrix, level)} for level in matrix.levels],
        "kernels": kernels,
        "flags": list(flags),
    }
    return data, list(loop_numbers)
