"""The files in an audit's targets: in folders and in wheels."""

from __future__ import annotations

import os
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from ..binary.formats import HEAD, starts_with_code
from ..model.errors import AuditError

# Called before each file, with its name, its number and the number of files; both numbers are 0 if they are unknown.
Progress = Callable[[str, int, int], None]

WHEEL = ".whl"
# First bytes of formats of machine code that isagen does not read: Mach-O of 32 bits or of the other byte order.
MACH_O = (b"\xfe\xed\xfa\xce", b"\xfe\xed\xfa\xcf", b"\xce\xfa\xed\xfe", b"\xcf\xfa\xed\xfe")
# Universal Mach-O and Java's classes start with the same bytes. The number of processors follows, or the class version.
UNIVERSAL = b"\xca\xfe\xba\xbe"
OLDEST_CLASS = 43  # version


def unseen(name: str, number: int, total: int) -> None:
    """Show no progress."""


def files_in(folder: Path, skipped: tuple[str, ...] = ()) -> Iterator[Path]:
    """Yield the files in a folder, except in folders whose names end in one of `skipped`."""
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not skipped or not name.endswith(skipped))
        for name in sorted(names):
            path = Path(place, name)
            if path.is_file() and not path.is_symlink():
                yield path


def other_format(path: Path) -> str:
    """Return the name of a file's format of machine code if isagen does not read it; "" for other files."""
    try:
        with path.open("rb") as stream:
            head = stream.read(HEAD)
    except OSError:
        return ""  # `is_binary` does not fail for such files either
    return "" if not _is_mach_o(head) else "universal Mach-O" if head.startswith(UNIVERSAL) else "Mach-O"


def _is_mach_o(head: bytes) -> bool:
    universal = head.startswith(UNIVERSAL) and int.from_bytes(head[4:8], "big") < OLDEST_CLASS
    return universal or head.startswith(MACH_O)


@contextmanager
def unpacked(wheel: Path) -> Iterator[Path]:
    """Unpack the binaries of a wheel into a temporary folder."""
    with tempfile.TemporaryDirectory(prefix="isagen-audit-") as folder:
        try:
            with zipfile.ZipFile(wheel) as archive:
                for entry in archive.infolist():
                    with archive.open(entry) as stream:
                        head = stream.read(HEAD)
                    if not entry.is_dir() and (starts_with_code(head) or _is_mach_o(head)):
                        archive.extract(entry, folder)
        except Exception as problem:  # of zipfile, of the decompressor, and of names that the OS refuses
            raise AuditError(f"cannot be unpacked: {problem}", where=str(wheel)) from None
        yield Path(folder)
