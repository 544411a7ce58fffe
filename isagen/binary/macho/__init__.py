"""Mach-O, the format of macOS, for x86-64 and arm64 (`isagen.binary.sealing_protocol.Format`)."""

from __future__ import annotations

from pathlib import Path

from ...model.files import AnyPath
from .. import itanium
from ..notes import note_text as record
from ..protocol import Binary, Mangling
from . import layout
from .images import MachoImage
from .layout import architecture_of as architecture
from .objects import MachoObject
from .reader import Macho
from .sealing import emptied
from .sealing import sealed as seal

__all__ = ["architecture", "emptied", "record", "seal"]

name, shown = "macho", "Mach-O"
systems = ("darwin",)
object_suffixes, archive_suffixes = (".o",), (".a",)
macros = ("__MACH__",)
gcc_args = ()
links_by_script = False
mangling: Mangling = itanium
load_object = MachoObject.load


def starts(head: bytes) -> bool:
    """Return whether a file with these first bytes is an object, or a linked file."""
    return layout.is_image(head) or layout.is_object(head)


def open(path: AnyPath, shown: str = "") -> Binary:
    """Open a file; messages name it `shown`."""
    with Path(path).open("rb") as stream:
        reader = MachoImage if layout.is_image(stream.read(layout.HEADER.size)) else Macho
    return reader(path, shown)


def with_note(content: bytes, owner: str, text: bytes) -> bytes:
    """Return `content` unchanged: only whole modules need the note, and they have no levels on macOS."""
    return content
