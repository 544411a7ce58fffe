"""The binary formats that isagen knows, and opening a file of any of them."""

from __future__ import annotations

import os
from collections.abc import Collection, Container, Sequence
from importlib import import_module

from ..model.errors import AuditError, BuildError
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
    """Return what a binary's code is for; None where its first bytes do not tell."""
    head = _head(path)
    found = _format_of(head)
    return found.architecture(head) if found is not None else None


def known_systems() -> tuple[str, ...]:
    """Return Meson's names of the systems whose objects are of a format that isagen knows."""
    return tuple(system for one in FORMATS for system in one.systems)


def are_made_under(macros: Container[str]) -> bool:
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


def seal_objects(
    files: Sequence[ObjectFile], level: str, mark: str, private: Collection[str] = (), bounded: Collection[str] = ()
) -> Sequence[bytes]:
    """Return the sealed contents of objects of one level, which are all of one format.

    `private` are names that are private to the level; those of `private_symbols` are added. `bounded` are sections that
    other objects of the level look for by name.
    Raises `BuildError` where the objects are of several formats.
    """
    formats = [one for one in FORMATS if any(file.format == one.name for file in files)]
    if len(formats) > 1:
        names = ", ".join(one.shown for one in formats)
        raise BuildError(
            f"are of several formats: {names}", where=f"objects of {level}", remedy="clean the build folder"
        )
    return formats[0].seal(files, level, mark, private, bounded) if formats else ()


def emptied_object(file: ObjectFile) -> bytes:
    """Return an object that takes the place of a sealed one, and defines nothing; `file` is what was to be sealed."""
    return next(one for one in FORMATS if one.name == file.format).emptied(file)


def note_in_object(file: ObjectFile, content: bytes, owner: str, text: bytes) -> bytes:
    """Return the `content` of a sealed object with a note of `owner` that says `text`; `file` is what was sealed."""
    return next(one for one in FORMATS if one.name == file.format).with_note(content, owner, text)


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
