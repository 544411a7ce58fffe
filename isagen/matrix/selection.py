"""Computes the level of a matrix that this CPU and OS select, by the rules of the generated code."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field

from ..model.errors import IsagenError
from ..model.matrix import LevelRow, Matrix
from ..model.plan import BUILT
from ..processors.detection import ask_permissions, detect
from ..processors.features import features_of, read_features
from ..processors.registry import this_cpu_family, this_machine

UNKNOWN = " (unknown to this isagen)"


@dataclass(frozen=True)
class Selection:
    """The level that a machine selects, and why. A field without a value is empty.

    `problem` is the reason why the selection is unknown. `missing` maps each level to texts for its features that CPU
    or OS lack, or that this isagen does not know. `variable` is the first of the matrix's variables with a value that
    is not blank, or the override variable if none has one. `override` is this value, `asked` the level that it asks
    for, and `excluded` are the levels that it rules out. `selected` is the best built level that is supported and not
    excluded.
    """

    problem: str = ""
    missing: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    override: str = ""
    asked: str = ""
    selected: str = ""
    variable: str = ""
    excluded: tuple[str, ...] = ()


def selection_here(matrix: Matrix, environment: Mapping[str, str] = os.environ) -> Selection:
    """Return what a program of the build would select if it started now, on this machine, and withheld no feature."""
    if matrix.cpu_family != this_cpu_family():
        return Selection(f"it is built for {matrix.cpu_family}, and this machine is {this_cpu_family()}")
    try:
        features = read_features(matrix.features)
        machine = this_machine(matrix.features)
        cpu = ask_permissions(detect(features, machine), machine)
    except IsagenError as problem:
        return Selection(str(problem))
    missing = {}
    for level in matrix.levels:
        unknown = (name + UNKNOWN for name in unknown_features(matrix, level))
        missing[level.name] = (*cpu.missing(level.features), *unknown)
    return select(matrix, missing, environment)


def unknown_features(matrix: Matrix, level: LevelRow) -> tuple[str, ...]:
    """Return the features of a level that this isagen does not know: a table or a newer isagen may add some."""
    known = features_of(matrix.features).features
    return tuple(name for name in level.features if name not in known)


def select(matrix: Matrix, missing: Mapping[str, tuple[str, ...]], environment: Mapping[str, str]) -> Selection:
    """Return the selection of a machine with the variables `environment`; `missing` is the same as in `Selection`."""
    variable, override, meaning = _asked(matrix, environment)
    asked, off = matrix.level(meaning), matrix.level(meaning[1:]) if meaning.startswith("-") else None
    excluded = []
    if asked is not None:
        excluded = [level.name for level in matrix.levels if level.name not in (asked.name, *asked.requires)]
    elif off is not None:
        excluded = [level.name for level in matrix.levels if off.name in (level.name, *level.requires)]
    usable = [level.name for level in matrix.levels if level.verdict == BUILT and not missing[level.name]]
    allowed = [name for name in usable if name not in excluded]
    return Selection(
        missing=missing,
        override=override,
        asked=asked.name if asked is not None else "",
        selected=allowed[-1] if allowed else "",
        variable=variable,
        excluded=tuple(excluded),
    )


def _asked(matrix: Matrix, environment: Mapping[str, str]) -> tuple[str, str, str]:
    """Return the first variable with a value that is not blank, this value, and its meaning (`Alias.meaning`)."""
    for alias in matrix.variables:
        value = environment.get(alias.variable, "")
        if value.strip():
            return alias.variable, value, alias.meaning(value.strip())
    return matrix.override, "", ""
