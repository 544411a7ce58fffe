"""The codes of instructions, to count them: without the names and tables of iced-x86, which take longer to load."""

from __future__ import annotations

import sys
from importlib.machinery import PathFinder
from importlib.util import module_from_spec
from operator import attrgetter

TYPE_CHECKING = False  # as in typing
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

LIBRARY, COMPILED = "iced_x86", "iced_x86._iced_x86_py"
CODE = attrgetter("code")


def codes_in(raw: bytes) -> Iterator[int]:
    """Yield the codes of the instructions in `raw`. Raises ImportError where iced-x86 is not installed."""
    return map(CODE, _compiled().Decoder(64, raw))


def _compiled() -> Any:
    """Return the compiled part of iced-x86, which the package takes from `sys.modules` where it is loaded later."""
    if COMPILED not in sys.modules:
        package = PathFinder.find_spec(LIBRARY)
        folders = package.submodule_search_locations if package is not None else None
        found = PathFinder.find_spec(COMPILED, folders) if folders else None
        if found is None or found.loader is None:
            raise ImportError(f"there is no {COMPILED}")
        module = module_from_spec(found)
        sys.modules[COMPILED] = module
        found.loader.exec_module(module)
    return sys.modules[COMPILED]
