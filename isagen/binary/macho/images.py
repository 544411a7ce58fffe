"""Reading Mach-O programs and libraries: their sections and notes, for the build matrix."""

from __future__ import annotations

from collections.abc import Iterator

from ..notes import notes_of
from ..object_reader import ObjectSymbol
from ..protocol import Architecture
from . import layout as m
from .reader import Macho

NOTES = "__isagen"
ARCHITECTURE = Architecture("macho-image", 0, 64, "little", "macOS (linked Mach-O files)")


class MachoImage(Macho):
    """A Mach-O program or library. Its symbols are not read."""

    unreadable = "is not a Mach-O file that can be read: "
    relocatable, fixed, stripped = False, False, True

    def _starts(self) -> bool:
        return m.is_image(self.data[: m.HEADER.size])

    def _read(self) -> None:
        super()._read()
        self.architecture = ARCHITECTURE

    def _decoded(self) -> Iterator[ObjectSymbol]:
        yield from ()

    def notes(self, owner: str) -> list[bytes]:
        contents = (self.content(section) for section in self.sections if section.own_name == NOTES)
        return [text for content in contents for text in notes_of(content, owner, "<")]
