"""ELF, the format of Linux and the BSDs (`isagen.binary.sealing_protocol.Format`)."""

from __future__ import annotations

from .. import itanium
from ..notes import note_text as record
from ..protocol import Mangling
from .layout import MAGIC
from .layout import architecture_of as architecture
from .objects import ElfObject
from .pointers import LoadedElf
from .rewritten import emptied, note_added
from .sealing import sealed as seal

__all__ = ["architecture", "emptied", "record", "seal"]

name, shown = "elf", "ELF"
systems = ("android", "dragonfly", "freebsd", "gnu", "linux", "netbsd", "openbsd", "sunos")
object_suffixes, archive_suffixes = (".o",), (".a",)
macros = ("__ELF__",)
gcc_args = ()
links_by_script = True
mangling: Mangling = itanium
open = LoadedElf
load_object = ElfObject.load


def starts(head: bytes) -> bool:
    """Return whether a file with these first bytes is of the format."""
    return head.startswith(MAGIC)


def with_note(content: bytes, owner: str, text: bytes) -> bytes:
    """Return the `content` of a sealed object with the note that `record` returns."""
    return note_added(ElfObject(content, "object"), owner, text)
