"""Functions of C and C++ libraries that the audit knows by name, from known_functions.toml."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from re import Pattern

from ..model.errors import AuditError
from ..model.toml import read_toml

_FILE = read_toml(Path(os.path.dirname(__file__), "known_functions.toml"), AuditError, "known_functions.toml")
# Functions that run those that they are given, at once, in a thread or at exit, with the numbers of these arguments.
RUNS: Mapping[str, tuple[int, ...]] = {name: tuple(entry.array("arguments")) for name, entry in _FILE.sections("runs")}


@cache
def _harmless() -> Pattern[str]:
    import re
    from fnmatch import translate

    section = _FILE.section("harmless")
    return re.compile("|".join(translate(pattern) for name in section.names() for pattern in section.strings(name)))


def is_harmless(name: str) -> bool:
    """Return whether an external function keeps no address that it is given, and a variable holds none."""
    return _harmless().match(name) is not None
