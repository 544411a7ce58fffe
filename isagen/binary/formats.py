"""The list of binary formats, and functions that recognise and open a file of any format."""

from __future__ import annotations

import os
from collections.abc import Container
from importlib import import_module
from pathlib import Path

from ..model.errors import AuditError
from ..model.files import AnyPath
from .contents import Architecture
from .format import AnyObject, Format
from .reader import HEAD, Binary

FOLDER = os.path.dirname(__file__)
NAMES = ("elf", "coff", "macho")  # the formats' folders
FORMATS: tuple[Format, ...] = tuple(import_module(f".{name}", __package__).FORMAT for name in NAMES)
OBJECT_SUFFIXES = tuple(suffix for format in FORMATS for suffix in format.object_suffixes)
ARCHIVE_SUFFIXES = tuple(suffix for format in FORMATS for suffix in format.archive_suffixes)
ARCHIVES = (b"!<arch>\n", b"!<thin>\n")  # the first bytes of archives of objects


def is_object_name(name: str) -> bool:
    """Return whether a file's name is that of an object."""
    return name.endswith(OBJECT_SUFFIXES)


def is_library_name(name: str) -> bool:
    """Return whether a file's name is that of a static library."""
    return name.endswith(ARCHIVE_SUFFIXES)


def objects_in(folder: Path) -> list[Path]:
    """Return the sorted paths of the objects directly in a folder; none if the folder does not exist."""
    return sorted(path for path in folder.glob("*") if is_object_name(path.name))


def is_binary(path: AnyPath) -> bool:
    """Return whether a file starts like an object or a linked file that isagen reads."""
    return _reader_of(head_of(path)) is not None


def is_archive(path: AnyPath) -> bool:
    """Return whether a file is an archive of objects."""
    return head_of(path).startswith(ARCHIVES)


def starts_with_code(head: bytes) -> bool:
    """Return whether a file with these first bytes is an archive of objects, or a binary as in `is_binary`."""
    return head.startswith(ARCHIVES) or _reader_of(head) is not None


def format_names() -> str:
    """Return the formats' names as a text for messages: "ELF, COFF or Mach-O"."""
    *others, last = (format.shown for format in FORMATS)
    return f"{', '.join(others)} or {last}"


def architecture_of(path: AnyPath) -> Architecture | None:
    """Return the architecture of a binary's code; None if the file is of no known format, or names no processor."""
    head = head_of(path)
    reader = _reader_of(head)
    return reader.architecture_of(head) if reader is not None else None


def known_systems() -> tuple[str, ...]:
    """Return Meson's names of the systems whose objects are of a format that isagen knows."""
    return tuple(system for format in FORMATS for system in format.systems)


def system_of(binary: Binary) -> str:
    """Return Meson's name of the system that a file is for; "" if its format is for several systems."""
    systems = next(format.systems for format in FORMATS if format.name == binary.format)
    return systems[0] if len(systems) == 1 else ""


def format_under(macros: Container[str]) -> Format | None:
    """Return the format of the objects of a compiler that predefines `macros`; None if the format is unknown."""
    return next((format for format in FORMATS if any(macro in macros for macro in format.macros)), None)


def open_binary(path: AnyPath, shown: str = "") -> Binary:
    """Open an object, program or library; messages name it `shown`, or by its path if `shown` is "".

    Raises `AuditError` if the file cannot be read, is damaged, or is of no known format.
    """
    try:
        head = _read_head(path)
    except FileNotFoundError:
        raise AuditError("there is no such file", where=shown or str(path)) from None
    except OSError as problem:
        raise AuditError(f"cannot be read: {problem.strerror}", where=shown or str(path)) from None
    if reader := _reader_of(head):
        return reader(path, shown)
    reason = f"is not an {format_names()} file that can be read: it does not start as one"
    raise AuditError(reason, where=shown or str(path))


def load_object(path: AnyPath) -> AnyObject:
    """Read an object into memory. Raises `BuildError` if the file cannot be read or is no object of a known format."""
    reader = _reader_of(head_of(path))
    format = next((format for format in FORMATS if reader in format.readers), FORMATS[0])
    return format.load_object(path)


def format_of(file: AnyObject) -> Format:
    """Return the format of an object."""
    return next(format for format in FORMATS if format.name == file.reader.format)


def _reader_of(head: bytes) -> type[Binary] | None:
    return next((reader for format in FORMATS for reader in format.readers if reader.starts(head)), None)


def head_of(path: AnyPath) -> bytes:
    """Return the first bytes of a file; none if it cannot be read."""
    try:
        return _read_head(path)
    except (OSError, ValueError):  # ValueError: the locale cannot encode the name
        return b""


def _read_head(path: AnyPath) -> bytes:
    with open(path, "rb") as stream:
        return stream.read(HEAD)
