"""The check for the project's own headers that compilers would find before the headers of `compat`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from ..model.errors import ConfigError
from ..planning.config import COMPAT, Config
from .compat import HEADER

# A header may itself include isagen's header.
FORWARDS = re.compile(rf'^\s*#\s*include\s*["<][^">]*{re.escape(HEADER)}[">]', re.MULTILINE)


def check_shadows(config: Config, kernels: Sequence[str], root: Path) -> None:
    """Raise `ConfigError` if a header in the folder of a kernel, or above it, has the name of a header of `compat`.

    Compilers search the folder of the source and that of the target before the folder of isagen's headers. The
    project's own macros would then define the stubs, and isagen's would not.
    """
    for name in config.compat:
        for header in COMPAT[name][1]:
            for path in _shadows(header, kernels, root):
                shown = path.relative_to(root).as_posix()
                raise ConfigError(
                    f"{name!r} gives a header in the place of {shown}, but the compiler finds the project's own first",
                    where=f"{config.shown}: compat",
                    remedy=f"{_deletion(path, root)}; to keep it, take {name!r} out of compat",
                )


def _shadows(header: str, kernels: Sequence[str], root: Path) -> Iterator[Path]:
    """Yield the files called `header` in the folders of kernels and in all folders above, up to the project's root."""
    for folder in dict.fromkeys(folder for kernel in kernels for folder in (root / kernel).parents):
        path = folder / header
        if (
            folder.is_relative_to(root)
            and path.is_file()
            and not FORWARDS.search(path.read_text(encoding="utf-8", errors="replace"))
        ):
            yield path


def _deletion(path: Path, root: Path) -> str:
    """Return the remedy: to delete the header, and the source of the same name beside it, which no stub needs then."""
    source = path.with_suffix(".cpp")
    files = [path, *([source] if source.is_file() else [])]
    names = " and ".join(one.relative_to(root).as_posix() for one in files)
    return f"delete {names}" + (", and take the source out of meson.build" if len(files) > 1 else "")
