"""isagen's own files: in the folders of its modules, or, in a build folder, all in one file."""

from __future__ import annotations

import os
from collections.abc import Iterable

from .files import AnyPath


def read_own(path: AnyPath) -> bytes:
    """Return the content of a file beside isagen's modules. Raises OSError where it cannot be read."""
    content: bytes = __spec__.loader.get_data(os.fspath(path))  # type: ignore[union-attr]
    return content


def own_on_disk(paths: Iterable[str]) -> list[str]:
    """Return the files that hold what is at `paths`, of isagen and of others: one for all that it holds."""
    bundle = getattr(__spec__.loader, "bundle", None)
    return list(paths) if bundle is None else [bundle, *filter(os.path.isfile, paths)]
