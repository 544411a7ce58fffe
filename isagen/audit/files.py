"""The files in an audit's targets: in folders, in wheels, and in universal files."""

from __future__ import annotations

import os
import re
import struct
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from ..binary.formats import head_of, starts_with_code
from ..binary.reader import HEAD
from ..model.errors import AuditError

# Called before each file, with its name, its number and the number of files; both numbers are 0 if they are unknown.
Progress = Callable[[str, int, int], None]

WHEEL = ".whl"
CONDA = ".conda"
WHEELS = (WHEEL, CONDA)  # of the zip archives in a folder, only these are audited
# The archives in a conda package: one contains its files, another its description. They are not unpacked.
PACKED = re.compile(r"\.tar\.\w+\Z")
# The first bytes of a Debian package. It is an `ar` archive, and so are archives of objects.
DEBIAN = b"!<arch>\ndebian-binary"
# First bytes of Mach-O files, and of universal ones with offsets of 64 bits. isagen reads only some of these files.
MACH_O = (b"\xfe\xed\xfa\xce", b"\xfe\xed\xfa\xcf", b"\xce\xfa\xed\xfe", b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbf")
UNIVERSAL = "universal Mach-O"
# Universal Mach-O files and Java's classes start with these bytes, then the number of parts or the class's version.
FAT = b"\xca\xfe\xba\xbe"
OLDEST_CLASS = 43  # the lowest version of a class; no universal file has so many parts
# The header of each part of a universal file (<mach-o/fat.h>): processor, its subtype, offset, size, alignment.
PART = struct.Struct(">IIIII")
PROCESSORS = {
    (0x01000007, 3): "x86_64",
    (0x01000007, 8): "x86_64h",
    (0x0100000C, 0): "arm64",
    (0x0100000C, 2): "arm64e",
}


def files_in(folder: Path, skipped: tuple[str, ...] = ()) -> Iterator[Path]:
    """Yield the regular files in a folder and below, except in folders whose names end in one of `skipped`."""
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not skipped or not name.endswith(skipped))
        for name in sorted(names):
            path = Path(place, name)
            if path.is_file() and not path.is_symlink():
                yield path


def other_format(path: Path) -> str:
    """Return the format of a Mach-O file, for files that `is_binary` does not accept; "" for other formats."""
    head = head_of(path)
    return UNIVERSAL if _is_universal(head) else "Mach-O" if head.startswith(MACH_O) else ""


def _is_universal(head: bytes) -> bool:
    return head.startswith(FAT) and int.from_bytes(head[4:8], "big") < OLDEST_CLASS


def split(path: Path, folder: Path) -> tuple[list[Path], bool]:
    """Write the parts of a universal file to files such as ``NAME (arm64)`` in `folder`.

    Parts that are neither a binary nor an archive of objects are left out, and all but the first for one processor.
    Return the paths, and whether no part is left out.
    """
    data, parts = path.read_bytes(), []
    count = int.from_bytes(data[4:8], "big")
    for place in range(8, 8 + count * PART.size, PART.size):
        kind, subtype, start, size, _ = PART.unpack(data[place : place + PART.size].ljust(PART.size, b"\0"))
        part = folder / f"{path.name} ({PROCESSORS.get((kind, subtype & 0xFF), f'{kind:#x} {subtype:#x}')})"
        if part not in parts and starts_with_code(data[start : start + HEAD]):
            part.write_bytes(data[start : start + size])
            parts.append(part)
    return parts, len(parts) == count


def archive_reason(path: Path) -> tuple[str, str]:
    """Return what an `ar` archive is, and what to audit in its place."""
    if head_of(path).startswith(DEBIAN):
        return "a Debian package", "unpack it (dpkg-deb -x), and audit the folder"
    return "an archive of objects", "audit what they are linked into"


def packed_names(package: Path) -> list[str]:
    """Return the names of the archives in a conda package, which may contain machine code; none for another file."""
    if package.suffix != CONDA:
        return []
    with zipfile.ZipFile(package) as archive:
        return list(filter(PACKED.search, archive.namelist()))


@contextmanager
def unpacked(wheel: Path) -> Iterator[Path]:
    """Unpack a wheel's files of machine code into a temporary folder, and yield the folder.

    A universal file is replaced by its parts; it stays beside them if a part is left out. Raises `AuditError`
    if the wheel cannot be unpacked.
    """
    with tempfile.TemporaryDirectory(prefix="isagen-audit-") as folder:
        try:
            with zipfile.ZipFile(wheel) as archive:
                for entry in archive.infolist():
                    with archive.open(entry) as stream:
                        head = stream.read(HEAD)
                    is_split = _is_universal(head)
                    if not entry.is_dir() and (is_split or starts_with_code(head) or head.startswith(MACH_O)):
                        path = Path(archive.extract(entry, folder))
                        if is_split and split(path, path.parent)[1]:
                            path.unlink()
        except Exception as problem:  # of zipfile, of the decompressor, and of names that the OS refuses
            raise AuditError(f"cannot be unpacked: {problem}", where=str(wheel)) from None
        yield Path(folder)
