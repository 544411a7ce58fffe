"""Headers of the project that would be found before those of `compat`: refused, before anything is compiled."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from ..model.errors import ConfigError
from ..planning.config import COMPAT, Config
from .compat import HEADER

# What a header says that only passes on to isagen's own.
FORWARDS = re.compile(rf'^\s*#\s*include\s*["<][^">]*{re.escape(HEADER)}[">]', re.MULTILINE)


def check_shadows(config: Config, kernels: Sequence[str], root: Path) -> None:
    """Raise `ConfigError` for a header beside or above a kernel that has the name of one that `compat` stands in for.

    Compilers search a source's own folder, and Meson's targets theirs, before the folder of isagen's headers. Stubs
    would then be defined by the project's own macros, and links would lack isagen's.
    """
    for name in config.compat:
        for header in COMPAT[name][1]:
            for path in _found(header, kernels, root):
                shown = path.relative_to(root).as_posix()
                raise ConfigError(
                    f"{name!r} gives a header in the place of {shown}, but the compiler finds the project's own first",
                    where=f"{config.shown}: compat",
                    remedy=f"{_what_to_do(path, root)}; to keep it, take {name!r} out of compat",
                )


def _found(header: str, kernels: Sequence[str], root: Path) -> Iterator[Path]:
    """Yield the files that an include of `header` finds in the folder of a kernel or in one above, in the project."""
    for folder in dict.fromkeys(folder for kernel in kernels for folder in _folders(root / kernel, root)):
        path = folder / header
        if path.is_file() and not FORWARDS.search(path.read_text(encoding="utf-8", errors="replace")):
            yield path


def _folders(kernel: Path, root: Path) -> Iterator[Path]:
    for folder in kernel.parents:
        if folder.is_relative_to(root):
            yield folder


def _what_to_do(path: Path, root: Path) -> str:
    """Return the remedy; the source beside a header defines what no stub needs any more."""
    source = path.with_suffix(".cpp")
    files = [path, *([source] if source.is_file() else [])]
    names = " and ".join(one.relative_to(root).as_posix() for one in files)
    return f"delete {names}" + (", and take the source out of meson.build" if len(files) > 1 else "")
