"""Measured speeds of kernels at levels, from a benchmark's JSON.

    {"format": 1, "unit": "us", "speeds": {"kernels/dot.cpp": {"DEFAULT": 7.42, "AVX2": 4.15}}}

The unit is ``s``, ``ms``, ``us`` or ``ns`` for times, or ``ratio``: how many times as fast as at the lowest level.
Kernels are named as in the matrix: paths from the project's root.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ..model.errors import ConfigError, did_you_mean

SPEEDS_FORMAT = 1
RATIO = "ratio"
UNITS = (RATIO, "s", "ms", "us", "ns")
KEYS = ("format", "unit", "speeds")
EXAMPLE = '{"format": 1, "unit": "us", "speeds": {"dot.cpp": {"DEFAULT": 7.42, "AVX2": 4.15}}}'
WRITE = f"write it as {EXAMPLE}"


@dataclass(frozen=True)
class Speeds:
    """Measurements by kernel source and level: times in `unit`, or ratios."""

    unit: str
    speeds: Mapping[str, Mapping[str, float]]

    def ratios(self, source: str, lowest: str) -> dict[str, float]:
        """Return how many times as fast as at the lowest level a kernel is at each; none where that has no time."""
        found = self.speeds.get(source, {})
        if self.unit == RATIO:
            return dict(found)
        return {level: found[lowest] / value for level, value in found.items()} if lowest in found else {}


def read_speeds(path: Path) -> Speeds:
    """Read a benchmark's JSON. Raises `ConfigError`, which names file, key and remedy, where it is not as above."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as problem:
        said = problem.strerror if isinstance(problem, OSError) else "is not UTF-8"
        raise ConfigError(f"cannot be read: {said}", where=str(path), remedy=f"give a file such as {EXAMPLE}") from None
    return speeds_of(text, str(path))


def speeds_of(text: str, shown: str) -> Speeds:
    """Return the speeds in the text of a file, which messages name `shown`."""
    try:
        data = json.loads(text)
    except ValueError as problem:
        raise ConfigError(f"is not JSON: {problem}", where=shown, remedy=WRITE) from None
    _require(isinstance(data, dict), shown, "is no JSON object")
    for key in data:
        _require(key in KEYS, f"{shown}: {key}", "is not a key of this file", did_you_mean(key, KEYS))
    found, unit, speeds = (data.get(key) for key in KEYS)
    right = type(found) is int and found == SPEEDS_FORMAT
    _require(right, f"{shown}: format", f"must be {SPEEDS_FORMAT}, not {found!r}")
    _require(unit in UNITS, f"{shown}: unit", f"must be one of {', '.join(UNITS)}, not {unit!r}")
    where = f"{shown}: speeds"
    _require(isinstance(speeds, dict), where, "must be an object of kernels")
    for source, levels in speeds.items():
        _require(isinstance(levels, dict), f"{where}.{source}", "must be an object of levels")
        for level, value in levels.items():
            said = f"must be a number above 0, not {value!r}"
            right = type(value) in (int, float) and 0 < value < math.inf
            _require(right, f"{where}.{source}.{level}", said, "leave out what was not measured")
    return Speeds(unit, speeds)


def _require(right: bool, where: str, message: str, remedy: str = WRITE) -> None:
    if not right:
        raise ConfigError(message, where=where, remedy=remedy)
