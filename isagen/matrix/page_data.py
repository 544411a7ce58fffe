"""The data of the HTML page: a matrix as compact data, which contains each text, list and loop once."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any, TypeAlias

from ..model.matrix import Matrix, MatrixCell
from ..model.plan import BUILT, DISABLED, UNAVAILABLE
from .loops import Loop
from .words import own_features

# Seconds by kernel source and level.
Times: TypeAlias = Mapping[str, Mapping[str, float]]

NOT_COMPILED = "not compiled"
STATES = (BUILT, NOT_COMPILED, DISABLED, UNAVAILABLE)


class _Numbers(dict[Hashable, int]):
    """Numbers of values, which cells contain instead of the values: a new value gets the next number."""

    def __missing__(self, value: Hashable) -> int:
        self[value] = len(self)
        return self[value]


def state_of(cell: MatrixCell) -> str:
    """Return a cell's verdict, or `NOT_COMPILED` if it is to be built and has no object yet."""
    return NOT_COMPILED if cell.verdict == BUILT and cell.stubs is None and cell.code is None else cell.verdict


def build_data(matrix: Matrix, loops: Mapping[tuple[str, str], Loop], times: Times) -> tuple[dict[str, Any], list[Any]]:
    """Return a matrix as data, and the loops, whose numbers its cells contain."""
    levels = {level.name: number for number, level in enumerate(matrix.levels)}
    texts, lists, features, loop_numbers = _Numbers(), _Numbers(), _Numbers(), _Numbers()

    def cell_data(source: str, level: str, cell: MatrixCell | None) -> list[Any] | None:
        """Return state, reason, flags, copy, stubs, code, identical level, seconds, loop, speed, time and fold."""
        if cell is None:
            return None
        code, loop = cell.code, loops.get((source, level))
        families = [[features[name], count] for name, count in code.families.items()] if code is not None else []
        return [
            STATES.index(state_of(cell)),
            texts[cell.reason],
            lists[cell.flags],
            cell.copy,
            lists[cell.stubs] if cell.stubs is not None else -1,
            [code.loaded_bytes, code.code_bytes, code.instructions, code.widest, families, int(bool(code.digest))]
            if code is not None
            else None,
            levels.get(cell.same_as, -1),
            cell.seconds,
            loop_numbers[loop] if loop is not None else -1,
            *_speed(times.get(source, {}), matrix.levels[0].name, level),
            int(bool(cell.folded)),
        ]

    kernels = [
        {
            "source": kernel.source,
            "language": kernel.language,
            "args": kernel.args,
            "cells": [cell_data(kernel.source, name, kernel.levels.get(name)) for name in levels],
        }
        for kernel in matrix.kernels
    ]
    data = {
        "project": matrix.project,
        "states": STATES,
        "features": list(features),
        "levels": [{**vars(level), "own": own_features(matrix, level)} for level in matrix.levels],
        "kernels": kernels,
        "texts": list(texts),
        "lists": list(lists),
    }
    return data, list(loop_numbers)


def _speed(times: Mapping[str, float], lowest: str, level: str) -> tuple[float | None, float | None]:
    """Return a copy's speed relative to the `lowest` level, and its time in microseconds; None if not measured."""
    if level not in times:
        return None, None
    ratio = round(times[lowest] / times[level], 4) if lowest in times else None
    return ratio, round(times[level] * 1e6, 4)
