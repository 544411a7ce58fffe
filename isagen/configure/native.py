"""The word `native` of the Meson option isa_levels: the features that the build machine lacks, by level."""

from __future__ import annotations

import platform
from collections.abc import Mapping

from ..model.errors import ConfigError
from ..model.plan import Limit, Verdict
from ..planning.levels import NATIVE, OPTION, level_words
from ..processors.detection import ask_permissions, detect, missing_by_level
from ..processors.registry import this_cpu_family, this_machine
from ..processors.table import Table
from .request import Request


def native_levels(
    request: Request, table: Table, verdicts: Mapping[tuple[str, str], Verdict], limit: Limit
) -> Mapping[str, tuple[str, ...]] | None:
    """Return the features that CPU and OS of this machine lack, by level; None if isa_levels does not contain `native`.

    If only the lowest level is built, the result is empty. Otherwise, raises `ConfigError` if the program is for
    another system or processor than this machine's.
    """
    if NATIVE not in map(str.casefold, level_words([request.levels])):
        return None
    if limit.reason:  # only the lowest level is built, on whichever machine
        return {}
    target, here = (request.system, request.cpu_family), (platform.system().lower(), this_cpu_family())
    if target != here:
        raise ConfigError(
            f"{NATIVE} asks for the levels of this machine ({' '.join(here)}), and the build is for {' '.join(target)}",
            where=OPTION,
            remedy="name the levels that its CPU has",
        )
    machine = this_machine(table.features.name)
    cpu = ask_permissions(detect(table.features, machine), machine)
    turned_on: dict[str, tuple[str, ...]] = {}
    for (level, _), verdict in verdicts.items():
        turned_on[level] = (*turned_on.get(level, ()), *verdict.features)
    return missing_by_level(table, cpu, turned_on)
