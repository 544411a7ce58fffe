"""Kernel sources: which ones a set may have, their settings in isa.toml, and the names of their copies."""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..model.errors import ConfigError, KernelError, did_you_mean
from ..model.languages import language_of, takes_macros
from .config import VARIABLE, WILDCARD, Config, KernelConfig

# Wildcards as regular expressions: `**/` matches any number of folders, `**` any text, and `*` and `?` match within a
# folder.
WILDCARDS = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}


@dataclass(frozen=True)
class Settings(KernelConfig):
    """The settings of one kernel; `keys` maps the name of each setting to the key of isa.toml that gives it."""

    keys: Mapping[str, str] = field(default_factory=dict)


def settings_of(source: str, config: Config) -> Settings:
    """Return a kernel's settings: each from the entry of its path, or else from the last pattern that gives it."""
    entries = [key for key in config.kernels if key != source and matches(key, source)]
    entries += [source] if source in config.kernels else []
    settings: dict[str, Any] = {}
    keys: dict[str, str] = {}
    for key in entries:
        given = {name: value for name, value in vars(config.kernels[key]).items() if value not in (None, "", {})}
        settings |= given
        keys |= {name: f"{config.shown}: kernels.{key!r}.{name}" for name in given}
    return Settings(**settings, keys=keys)


def matches(pattern: str, source: str) -> bool:
    """Return whether a pattern matches the path of a kernel."""
    expression = "".join(WILDCARDS.get(part, re.escape(part)) for part in WILDCARD.split(pattern))
    return re.fullmatch(expression, source) is not None


def check_kernels(kernels: Sequence[str], config: Config, other_kernels: Sequence[str] = (), module: str = "") -> None:
    """Raise `KernelError` for a kernel that cannot be built, and `ConfigError` for wrong settings or a wrong `module`.

    Settings are wrong if they apply to no kernel of any set, or register functions in a way that cannot work.
    """
    if module and not VARIABLE.match(module):
        remedy = "use letters, digits and _, and a letter or _ first; isa_subdir names its package's folder"
        raise ConfigError(f"{module!r} cannot name an extension module", where="isa_module", remedy=remedy)
    if module and not kernels:
        remedy = "name its sources with files(): C, C++ or Cython"
        raise ConfigError(f"the module {module} has no source", where="isa_kernels", remedy=remedy)
    for source, count in Counter(kernels).items():
        where = f"isa_kernels: {source}"
        if source.endswith(".pyx"):
            raise KernelError(
                "is Cython: its functions need the state of their Python module, so stubs cannot call them",
                where=where,
                remedy="dispatch the module as a whole: isa_module = 'NAME', or 'module': 'NAME' in isa_sets",
            )
        language_of(source)
        if count > 1:
            raise KernelError("is listed twice", where=where, remedy="name every kernel once")
        if re.search(r"[\n\r|\\]", source):
            reason = "has a line break, a backslash or a '|' in its path, which Meson or ninja cannot write"
            raise KernelError(reason, where=f"isa_kernels: {source!r}", remedy="rename the file or folder")
        _check_register(source, settings_of(source, config))
    every = (*kernels, *other_kernels)
    for key in config.kernels:
        if key in every or any(matches(key, source) for source in every):
            continue
        rules = "paths start at the project's root; * matches within a folder, and **/ any folders"
        remedy = f"{did_you_mean(key, every)} ({rules})"
        raise ConfigError(f"{key!r} matches no kernel", where=f"{config.shown}: kernels", remedy=remedy)


def _check_register(source: str, settings: Settings) -> None:
    """Raise `ConfigError` if isa.toml registers functions of Fortran or assembly in a way that cannot work."""
    if takes_macros(source):
        return
    where = settings.keys.get("register", "")
    if settings.register and not settings.header:
        remedy = 'add header = "stubs.h", as a C source would include it'
        raise ConfigError("needs the header that declares the stubs", where=where, remedy=remedy)
    for stub, function in settings.register.items():
        if "::" in function:
            raise ConfigError(
                f"{function!r} is no symbol: {source} defines functions as C names them",
                where=f"{where}.{stub}",
                remedy="name the symbol: in Fortran the name of bind(c), in assembly the global label",
            )


def copy_names(kernels: Sequence[str], kernel_set: str = "") -> dict[str, str]:
    """Return a unique name for the copies of each kernel.

    The name is the kernel's file name, preceded by as many of its folders as distinguish it from other kernels. The
    set's name comes first, because the copies of all sets are in one folder.
    """
    start = f"{kernel_set}." if kernel_set else ""
    names = {source: posixpath.basename(source) for source in kernels}
    depth = 1
    while True:
        # Names must differ in more than case: some file systems ignore it.
        counts = Counter(name.casefold() for name in names.values())
        clashing = [source for source, name in names.items() if counts[name.casefold()] > 1]
        if not clashing:
            return {source: start + name for source, name in names.items()}
        depth += 1
        for source in clashing:
            parts = source.split("/")
            names[source] = "_".join(parts[-depth:])
            if depth > len(parts):  # no folder is left to add: numbers tell a_b.cpp from a/b.cpp
                names[source] = f"{kernels.index(source)}_{names[source]}"
