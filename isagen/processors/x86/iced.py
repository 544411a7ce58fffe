"""iced-x86: its native module, without the forty modules of numbers that the package loads beside it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from operator import attrgetter
from types import ModuleType
from typing import TYPE_CHECKING

import iced_x86 as iced_x86

PACKAGE = "iced_x86"
NATIVE = f"{PACKAGE}._iced_x86_py"


@cache
def numbers(kind: str) -> Mapping[str, int]:
    """Return the numbers of one of the package's enumerations, such as ``Mnemonic``, by name."""
    name = f"{PACKAGE}.{kind}"
    module = sys.modules.get(name) or _without_package(name)
    return {name: value for name, value in vars(module).items() if isinstance(value, int)}


def _without_package(name: str) -> ModuleType:
    """Return a module of the package, which loads forty others where it is imported; build folders have a few."""
    from importlib.machinery import PathFinder
    from importlib.util import module_from_spec

    found = PathFinder.find_spec(name, [os.path.dirname(getattr(iced_x86, "__file__", ""))])
    if found is None or found.loader is None:
        return import_module(name)
    module = module_from_spec(found)
    found.loader.exec_module(module)
    return module


def _native() -> ModuleType | None:
    """Return the native module, which has all classes; None where it is not installed."""
    if NATIVE in sys.modules:
        return sys.modules[NATIVE]
    from importlib.machinery import PathFinder
    from importlib.util import module_from_spec

    package = PathFinder.find_spec(PACKAGE)
    found = PathFinder.find_spec(NATIVE, package.submodule_search_locations) if package is not None else None
    try:
        if found is None or found.loader is None:
            return import_module(NATIVE)
        module = sys.modules[NATIVE] = module_from_spec(found)  # the package takes it from there, if it is imported
        found.loader.exec_module(module)
        return module
    except ImportError:  # architectures without a wheel of it can still build
        sys.modules.pop(NATIVE, None)
        return None


def codes_in(raw: bytes) -> Iterator[int]:
    """Yield the codes of the instructions in `raw`, without the decoder's tables, which take longer to load.

    Raises ImportError where iced-x86 is not installed.
    """
    if iced_x86 is None:
        raise ImportError("there is no iced_x86")
    return map(attrgetter("code"), iced_x86.Decoder(64, raw))


def files() -> list[str]:
    """Return the files of the native module, and of the numbers that say which features instructions need."""
    native = getattr(iced_x86, "__file__", "")
    folder = os.path.dirname(native)
    return [native, *(os.path.join(folder, f"{kind}.py") for kind in ("Code", "CpuidFeature", "Mnemonic"))]


if not TYPE_CHECKING:
    iced_x86 = _native()
