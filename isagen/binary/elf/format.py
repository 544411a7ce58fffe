"""ELF as the rest of isagen sees it: the format's one object, which loads its parts where they are used."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from ...model.files import AnyPath
from .. import itanium
from ..protocol import Architecture, Mangling
from .layout import MAGIC
from .machines import architecture_of
from .notes import note_of
from .objects import ElfObject
from .pointers import LoadedElf


class ElfFormat:
    """ELF (`isagen.binary.protocol.Format`)."""

    name = "elf"
    shown = "ELF"
    systems = ("android", "dragonfly", "freebsd", "gnu", "linux", "netbsd", "openbsd", "sunos")
    macro = "__ELF__"
    mangling: Mangling = itanium

    def starts(self, head: bytes) -> bool:
        """Return whether a file with these first bytes is of the format."""
        return head.startswith(MAGIC)

    def architecture(self, head: bytes) -> Architecture | None:
        """Return what the code of a file with these first bytes is for; None where they do not tell."""
        return architecture_of(head)

    def open(self, path: AnyPath, shown: str) -> LoadedElf:
        """Open a file; messages name it `shown`."""
        from .pointers import LoadedElf

        return LoadedElf(path, shown)

    def load_object(self, path: AnyPath) -> ElfObject:
        """Read an object."""
        from .objects import ElfObject

        return ElfObject.load(path)

    def seal(
        self, files: Sequence[ElfObject], level: str, mark: str, private: Collection[str], bounded: Collection[str]
    ) -> Sequence[bytes]:
        """Return the sealed contents of objects of `level`, in which the names `private` are private too."""
        from .sealing import sealed

        return sealed(files, level, mark, private, bounded)

    def emptied(self, file: ElfObject) -> bytes:
        """Return an object that takes a sealed one's place, and defines nothing."""
        from .rewritten import emptied

        return emptied(file)

    def record(self, owner: str, text: bytes) -> bytes:
        """Return the note that says `text`."""
        return note_of(owner, text)

    def with_note(self, content: bytes, owner: str, text: bytes) -> bytes:
        """Return an object with the `content` and a note that says `text`."""
        from .objects import ElfObject
        from .rewritten import with_note

        return with_note(ElfObject(content, "object"), owner, text)


FORMAT = ElfFormat()
