"""Functions of C and C++ libraries that the audit knows by name, from known_functions.toml."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from fnmatch import translate
from functools import cache
from pathlib import Path
from re import Pattern

from ..code.references import IMPORTED
from ..model.errors import AuditError
from ..model.toml import read_toml

_FILE = read_toml(Path(os.path.dirname(__file__), "known_functions.toml"), AuditError, "known_functions.toml")
# Functions that call some of their arguments, at once, in a thread or at exit; and these arguments' positions, from 0.
_CALLERS = _FILE.sections("runs")
CALLBACK_ARGUMENTS: Mapping[str, tuple[int, ...]] = {name: tuple(one.array("arguments")) for name, one in _CALLERS}


@cache
def _patterns(table: str) -> Pattern[str]:
    section = _FILE.section(table)
    return re.compile("|".join(translate(pattern) for name in section.names() for pattern in section.strings(name)))


def is_of_instrumentation(name: str) -> bool:
    """Return whether `name` is that of an initialiser that a tool, such as a sanitizer, adds to objects.

    Such an initialiser passes addresses only to functions of the tool.
    """
    return _patterns("instrumentation").match(name) is not None


def is_harmless(name: str) -> bool:
    """Return whether `name` is that of a harmless function or variable, or of a pointer to one in a DLL (`__imp_...`).

    A harmless function neither stores nor calls its arguments, and no address can be stored in a harmless variable.
    """
    name = name.removeprefix(IMPORTED)
    calls = _patterns("calling").match(name) and not _patterns("not_calling").match(name)
    return _patterns("harmless").match(name) is not None and not calls
