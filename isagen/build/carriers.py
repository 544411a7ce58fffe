"""Which sealed objects carry the notes of levels, so that the notes are in whatever is linked from the objects.

A linker takes an object out of an archive only for what it defines. An object that registers a stub is always taken.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from ..binary.formats import note_in_object
from ..binary.protocol import ObjectFile
from ..model.frozen import dataclass, replace
from ..model.record import LEVEL_OWNER
from ..model.registrations import Registrations


@dataclass(frozen=True)
class Sealed:
    """A sealed object: where it goes, its content, and the object that was compiled."""

    path: Path
    content: bytes
    file: ObjectFile


class LevelNotes:
    """The notes of levels, which are given lowest first, and the objects that carry them."""

    def __init__(self) -> None:
        self._carriers: dict[str, Sealed] = {}  # by level
        self._notes: dict[str, list[bytes]] = {}  # by the level of the object that carries them
        self._elsewhere: dict[str, str] = {}  # that level, of levels whose own objects carry none

    def carry(self, registered: Registrations, note: bytes, sealed: Mapping[str, Sealed]) -> Sealed | None:
        """Choose what carries the `note` of a level, and return it if it is one of the level's own `sealed` objects.

        Those are by kernel source. Where all that register a stub fold, it is an object of the level below.
        """
        level, folded = registered.level, registered.folded
        sources = [source for source in sealed if registered.kernels[source].registers] or list(sealed)
        carrier = next((source for source in sources if source not in folded), None)
        if carrier is not None:
            self._carriers[level] = sealed[carrier]
            self._notes[level] = [note]
            return sealed[carrier]
        below = folded[sources[0]]
        self._elsewhere[level] = self._elsewhere.get(below, below)
        self._notes[self._elsewhere[level]].append(note)
        return None

    def carriers(self) -> Iterator[Sealed]:
        """Yield the objects that carry notes, with them."""
        for level, carrier in self._carriers.items():
            content = carrier.content
            for note in self._notes[level]:
                content = note_in_object(carrier.file, content, LEVEL_OWNER, note)
            yield replace(carrier, content=content)
