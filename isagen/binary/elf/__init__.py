"""ELF: the objects, programs and libraries of Linux and the BSDs (`isagen.binary.sealing_protocol.Format`)."""

from __future__ import annotations

from .. import itanium
from ..protocol import Mangling
from .layout import MAGIC, architecture_of
from .notes import note_of
from .objects import ElfObject
from .pointers import LoadedElf
from .rewritten import emptied as emptied
from .rewritten import note_added
from .sealing import sealed

name, shown = "elf", "ELF"
systems = ("android", "dragonfly", "freebsd", "gnu", "linux", "netbsd", "openbsd", "sunos")
object_suffixes, archive_suffixes = (".o",), (".a",)
macro = "__ELF__"
mangling: Mangling = itanium
architecture = architecture_of
open = LoadedElf
load_object = ElfObject.load
seal = sealed
record = note_of


def starts(head: bytes) -> bool:
    """Return whether a file with these first bytes is of the format."""
    return head.startswith(MAGIC)


def with_note(content: bytes, owner: str, text: bytes) -> bytes:
    """Return the `content` of a sealed object with a note of `owner` added."""
    return note_added(ElfObject(content, "object"), owner, text)
