"""The files in an audit's targets: in folders and in wheels."""

from __future__ import annotations

import os
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..binary.formats import HEAD, starts_with_code
from ..model.errors import AuditError


def files_in(folder: Path, skipped: tuple[str, ...] = ()) -> Iterator[Path]:
    """Yield the files in a folder, but for those in folders whose names end in one of those `skipped`."""
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not skipped or not name.endswith(skipped))
        for name in sorted(names):
            path = Path(place, name)
            if path.is_file() and not path.is_symlink():
                yield path


@contextmanager
def unpacked(wheel: Path) -> Iterator[Path]:
    """Unpack the binaries of a wheel into a temporary folder."""
    with tempfile.TemporaryDirectory(prefix="isagen-audit-") as folder:
        try:
            with zipfile.ZipFile(wheel) as archive:
                for entry in archive.infolist():
                    with archive.open(entry) as stream:
                        if entry.is_dir() or not starts_with_code(stream.read(HEAD)):
                            continue
                    archive.extract(entry, folder)
        except Exception as problem:  # of zipfile, and of whatever unpacks and names its entries
            raise AuditError(f"cannot be unpacked: {problem}", where=str(wheel)) from None
        yield Path(folder)
