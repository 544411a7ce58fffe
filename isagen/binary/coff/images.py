"""Reading PE files, the programs and libraries of Windows: their sections and notes, for the build matrix."""

from __future__ import annotations

from collections.abc import Iterator

from ..notes import notes_of
from ..protocol import Architecture
from . import layout as c
from .entries import CoffSection
from .reader import Coff

MAGIC = b"MZ"
SIGNATURE_AT = 60  # the offset of the signature's offset
SIGNATURE = b"PE\0\0"
NOTES = ".isagen"
ARCHITECTURE = Architecture("pe", 0, 64, "little", "Windows (PE files)")


def is_image(head: bytes) -> bool:
    """Return whether a file with these first bytes is a PE file."""
    place = int.from_bytes(head[SIGNATURE_AT : SIGNATURE_AT + 4], "little")
    return head.startswith(MAGIC) and head[place : place + 4] == SIGNATURE


class PeImage(Coff):
    """A PE file. It has no symbols that are read."""

    relocatable, fixed, stripped = False, False, True

    def _read(self) -> None:
        if not is_image(self.data):
            raise self.fail("it does not start as one")
        place = int.from_bytes(self.data[SIGNATURE_AT : SIGNATURE_AT + 4], "little")
        self.machine, count, _, _, _, optional, _ = c.HEADER.unpack_from(self.data, place + 4)
        self.architecture = ARCHITECTURE
        self.headers_at = place + 4 + c.HEADER.size + optional
        self.sections = tuple(self._sections(count))
        self._symbols = {}

    def _sections(self, count: int) -> Iterator[CoffSection]:
        for index in range(1, count + 1):
            header = c.SECTION.unpack_from(self.data, self.headers_at + (index - 1) * c.SECTION.size)
            raw, _, address, size, offset, *_, flags = header
            name = raw.rstrip(b"\0").decode(errors="surrogateescape")
            yield CoffSection(index, name, address, offset, size, flags, 0, 0)

    def notes(self, owner: str) -> list[bytes]:
        contents = (self.content(section) for section in self.sections if section.name == NOTES)
        return [text for content in contents for text in notes_of(content, owner, "<")]
