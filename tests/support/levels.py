"""The levels of a table that a CPU runs, computed from its features: no test names the CPU that it runs on."""

import functools
import importlib.util
import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

from isagen.processors.detection import ask_permissions, detect
from isagen.processors.table import load_table
from isagen.processors.x86.machine import ThisMachine

# The levels of the x86 table, lowest rank first.
ALL = list(load_table("x86", Path()).names())


@functools.cache
def supported_levels() -> list[str]:
    """The levels of the x86 table that this CPU supports, lowest first, as the reference extension says."""
    if importlib.util.find_spec("isagen_kernels") is None:
        pytest.skip("the reference extension is not installed: pip install ./python", allow_module_level=True)
    code = "import isagen_kernels._core as c, json, os, subprocess, sys\nprint(c.current_level())"
    found = []
    for name in ALL:
        done = subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "ISAGEN_KERNELS_ISA": name},
            capture_output=True,
            text=True,
            check=True,
        )
        if done.stdout.strip() == name:
            found.append(name)
    return found


def level_that_runs(supported: Iterable[str], asked: str, table: str = "x86") -> str:
    """Return the level that an override selects: the best supported one of `asked` and of those that it requires."""
    levels = load_table(table, Path())
    allowed = {asked, *(level.name for level in levels.below(asked))}
    return [name for name in levels.names() if name in allowed and name in supported][-1]


def levels_from(lowest: str, table: str = "x86") -> list[str]:
    """Return the level `lowest` and those that require it, lowest first."""
    return [level.name for level in load_table(table, Path()).levels if lowest in (level.name, *level.below)]


def lacks(features: Iterable[str], table: str = "x86") -> tuple[str, ...]:
    """Return those of the features that this CPU or OS lacks, as isagen's own detection says."""
    machine = ThisMachine()
    return ask_permissions(detect(load_table(table, Path()).features, machine), machine).missing(features)
