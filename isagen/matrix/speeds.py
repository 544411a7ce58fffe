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
from typing import Any

from ..model.errors import ConfigError, did_you_mean

SPEEDS_FORMAT = 1
RATIO = "ratio"
UNITS = (RATIO, "s", "ms", "us", "ns")
EXAMPLE = '{"format": 1, "unit": "us", "speeds": {"dot.cpp": {"DEFAULT": 7.42, "AVX2": 4.15}}}'


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
        raise ConfigError(f"is not JSON: {problem}", where=shown, remedy=f"write it as {EXAMPLE}") from None
    if not isinstance(data, dict):
        raise ConfigError("is no JSON object", where=shown, remedy=f"write it as {EXAMPLE}")
    for key in data:
        if key not in ("format", "unit", "speeds"):
            raise _fail(shown, key, "is not a key of this file", did_you_mean(key, ("format", "unit", "speeds")))
    if type(data.get("format")) is not int or data["format"] != SPEEDS_FORMAT:
        raise _fail(shown, "format", f"must be {SPEEDS_FORMAT}, not {data.get('format')!r}", f"write it as {EXAMPLE}")
    unit = data.get("unit")
    if unit not in UNITS:
        raise _fail(shown, "unit", f"must be one of {', '.join(UNITS)}, not {unit!r}", f"write it as {EXAMPLE}")
    speeds = _object(shown, "speeds", data.get("speeds"), "an object of kernels")
    return Speeds(str(unit), {source: _kernel(shown, source, found) for source, found in speeds.items()})


def _kernel(shown: str, source: str, found: Any) -> dict[str, float]:
    levels = _object(shown, f"speeds.{source}", found, "an object of levels")
    return {level: _number(shown, f"speeds.{source}.{level}", value) for level, value in levels.items()}


def _object(shown: str, key: str, found: Any, described: str) -> dict[str, Any]:
    if not isinstance(found, dict):
        raise _fail(shown, key, f"must be {described}", f"write it as {EXAMPLE}")
    return found


def _number(shown: str, key: str, value: Any) -> float:
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not 0 < value < math.inf:
        raise _fail(shown, key, f"must be a number above 0, not {value!r}", "leave out what was not measured")
    return float(value)


def _fail(shown: str, key: str, message: str, remedy: str) -> ConfigError:
    return ConfigError(message, where=f"{shown}: {key}", remedy=remedy)
