"""The data of the HTML page: a matrix as compact JSON, in which equal texts, lists and loops are there once."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import Any, Generic, TypeVar

from ..model.matrix import Code, Matrix, MatrixCell, MatrixKernel, MatrixLevel
from ..model.plan import BUILT, DISABLED, UNAVAILABLE
from .loops import Loop, own_features
from .speeds import RATIO, Speeds

NOT_COMPILED = "not compiled"
STATES = (BUILT, NOT_COMPILED, DISABLED, UNAVAILABLE)

T = TypeVar("T", bound=Hashable)


class _Once(Generic[T]):
    """Values that cells name by number: each is there once."""

    def __init__(self) -> None:
        self.numbers: dict[T, int] = {}

    def __call__(self, value: T) -> int:
        return self.numbers.setdefault(value, len(self.numbers))


def state_of(cell: MatrixCell) -> str:
    """Return a cell's verdict, or that it is not compiled though nothing keeps it from being built."""
    return NOT_COMPILED if cell.verdict == BUILT and cell.stubs is None and cell.code is None else cell.verdict


def build_data(
    matrix: Matrix, loops: Mapping[tuple[str, str], Loop], speeds: Speeds | None
) -> tuple[dict[str, Any], list[Loop]]:
    """Return a matrix as data, and the loops that its cells name by number."""
    rows = _Rows(matrix, loops, speeds)
    kernels = [rows.kernel(kernel) for kernel in matrix.kernels]
    data = {
        "project": matrix.project,
        "states": STATES,
        "features": list(rows.features.numbers),
        "levels": [_level(matrix, level) for level in matrix.levels],
        "kernels": kernels,
        "texts": list(rows.texts.numbers),
        "lists": list(rows.lists.numbers),
        "unit": speeds.unit if speeds is not None and speeds.unit != RATIO else "",
    }
    return data, list(rows.loops.numbers)


def loops_data(loops: Iterable[Loop]) -> list[Any]:
    """Return loops as data: (function, instructions) of each, an instruction being (offset, text, features)."""
    return [(loop.function, [(one.offset, one.text, one.features) for one in loop.instructions]) for loop in loops]


class _Rows:
    """The kernels of a matrix as data, and what they name by number."""

    def __init__(self, matrix: Matrix, loops: Mapping[tuple[str, str], Loop], speeds: Speeds | None) -> None:
        self._levels = {level.name: number for number, level in enumerate(matrix.levels)}
        self._loop_of = loops
        self._speeds = speeds
        self.features: _Once[str] = _Once()
        self.texts: _Once[str] = _Once()
        self.lists: _Once[tuple[str, ...]] = _Once()
        self.loops: _Once[Loop] = _Once()

    def kernel(self, kernel: MatrixKernel) -> dict[str, Any]:
        """Return one kernel; its cells are in the order of the levels, None where it has no cell."""
        cells = [self._cell(kernel, name) for name in self._levels]
        return {"source": kernel.source, "language": kernel.language, "args": kernel.args, "cells": cells}

    def _cell(self, kernel: MatrixKernel, level: str) -> list[Any] | None:
        """Return a cell: state, reason, flags, copy, stubs, code, identical level, seconds, loop, speed, time, fold."""
        cell = kernel.levels.get(level)
        if cell is None:
            return None
        loop = self._loop_of.get((kernel.source, level))
        return [
            STATES.index(state_of(cell)),
            self.texts(cell.reason),
            self.lists(cell.flags),
            cell.copy,
            self.lists(cell.stubs) if cell.stubs is not None else -1,
            self._code(cell.code) if cell.code is not None else None,
            self._levels.get(cell.same_as, -1),
            cell.seconds,
            self.loops(loop) if loop is not None else -1,
            *self._speed(kernel.source, level),
            int(bool(cell.folded)),
        ]

    def _code(self, code: Code) -> list[Any]:
        families = [[self.features(name), count] for name, count in code.families.items()]
        return [code.loaded_bytes, code.code_bytes, code.instructions, code.widest, families, int(bool(code.digest))]

    def _speed(self, source: str, level: str) -> tuple[float | None, float | None]:
        """Return how many times as fast as at the lowest level a copy is, and its time; None where not measured."""
        if self._speeds is None:
            return None, None
        ratio = self._speeds.ratios(source, next(iter(self._levels))).get(level)
        time = self._speeds.speeds.get(source, {}).get(level) if self._speeds.unit != RATIO else None
        return (round(ratio, 4) if ratio is not None else None), time


def _level(matrix: Matrix, level: MatrixLevel) -> dict[str, Any]:
    return {
        "name": level.name,
        "verdict": level.verdict,
        "reason": level.reason,
        "requires": level.requires,
        "features": level.features,
        "own": own_features(matrix, level),
        "flags": level.flags,
        "macros": level.macros,
        "dropped": level.dropped,
        "compiled": level.compiled,
    }
