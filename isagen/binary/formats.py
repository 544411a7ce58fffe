"""The binary formats that isagen knows, and opening a file of any of them."""

from __future__ import annotations

import os
from collections.abc import Container
from importlib import import_module
from pathlib import Path

from ..model.errors import AuditError
from ..model.files import AnyPath
from .protocol import Architecture, Binary
from .sealing_protocol import Format, ObjectFile

FOLDER = os.path.dirname(__file__)
# One line for each format's folder.
NAMES = ("elf",)
FORMATS: tuple[Format, ...] = tuple(import_module(f".{name}", __package__) for name in NAMES)
HEAD = 64  # bytes that tell a file's format, and what its code is for
# How archives of objects start: the same for all formats.
ARCHIVES = (b"!<arch>\n", b"!<thin>\n")


def is_object_name(name: str) -> bool:
    """Return whether a file's name is that of an object."""
    return name.endswith(tuple(suffix for one in FORMATS for suffix in one.object_suffixes))


def is_library_name(name: str) -> bool:
    """Return whether a file's name is that of a static library."""
    return name.endswith(tuple(suffix for one in FORMATS for suffix in one.archive_suffixes))


def objects_in(folder: Path) -> list[Path]:
    """Return the objects in a folder of Meson, in order; none if there is no folder."""
    return sorted(path for path in folder.glob("*") if is_object_name(path.name))


def is_binary(path: AnyPath) -> bool:
    """Return whether a file is of a format that isagen knows."""
    return _format(path) is not None


def is_archive(path: AnyPath) -> bool:
    """Return whether a file is an archive of objects."""
    return _head(path).startswith(ARCHIVES)


def starts_with_code(head: bytes) -> bool:
    """Return whether a file with these first bytes is a binary or an archive of objects."""
    return head.startswith(ARCHIVES) or _format_of(head) is not None


def format_names() -> str:
    """Return the formats' names, for messages."""
    return " or ".join(one.shown for one in FORMATS)


def architecture_of(path: AnyPath) -> Architecture | None:
    """Return the architecture of a binary's code; None where its first bytes name none."""
    head = _head(path)
    found = _format_of(head)
    return found.architecture(head) if found is not None else None


def known_systems() -> tuple[str, ...]:
    """Return Meson's names of the systems whose objects are of a format that isagen knows."""
    return tuple(system for one in FORMATS for system in one.systems)


def has_format_macro(macros: Container[str]) -> bool:
    """Return whether a compiler that predefines `macros` makes objects of a format that isagen knows."""
    return any(one.macro in macros for one in FORMATS)


def open_binary(path: AnyPath, shown: str = "") -> Binary:
    """Open an object, program or library; messages name it `shown`. Raises `AuditError` if it is of no known format."""
    try:
        found = _format_of(_read_head(path))
    except FileNotFoundError:
        raise AuditError("there is no such file", where=shown or str(path)) from None
    except OSError as problem:
        raise AuditError(f"cannot be read: {problem.strerror}", where=shown or str(path)) from None
    if found is None:
        reason = f"is not an {format_names()} file that can be read: it does not start as one"
        raise AuditError(reason, where=shown or str(path))
    return found.open(path, shown)


def load_object(path: AnyPath) -> ObjectFile:
    """Read an object to be sealed. Raises `BuildError` if it is of no known format."""
    return (_format(path) or FORMATS[0]).load_object(path)


def format_of(file: ObjectFile) -> Format:
    """Return the format of an object, which seals it."""
    return next(one for one in FORMATS if one.name == file.format)


def demangle(symbol: str) -> str:
    """Return a symbol as C++ writes it, or unchanged. The end of a name that is private to a level stays."""
    shown = (one.mangling.demangle(symbol) for one in FORMATS)
    return next((text for text in shown if text != symbol), symbol)


def _format(path: AnyPath) -> Format | None:
    return _format_of(_head(path))


def _format_of(head: bytes) -> Format | None:
    return next((one for one in FORMATS if one.starts(head)), None)


def _head(path: AnyPath) -> bytes:
    """Return the first bytes of a file, none of one that cannot be read."""
    try:
        return _read_head(path)
    except (OSError, ValueError):  # the locale may have no letters for a name
        return b""


def _read_head(path: AnyPath) -> bytes:
    with open(path, "rb") as stream:
        return stream.read(HEAD)
