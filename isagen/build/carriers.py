"""Which sealed objects carry the notes of levels, so that the notes are in whatever is linked from the objects.

A linker takes an object out of an archive only for what it defines. An object that registers a stub is always taken.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from ..model.registrations import Registrations
from .known_objects import KnownObject

# The owners of notes in binaries, as `model.record` has them.
LEVEL_OWNER, RECORD_OWNER = "isagen.level", "isagen"


@dataclass(frozen=True)
class Sealed:
    """A sealed object: where it goes, the object that was compiled, and what makes its content.

    `private` are the names in it that are private to the `level`, `bounded` the sections that objects of the level look
    for by name, and `notes` what is added: (owner, text). It is `emptied` where it folds, and `whole` in a private
    module.
    """

    path: str
    file: KnownObject
    level: str
    private: tuple[str, ...] = ()
    bounded: tuple[str, ...] = ()
    notes: tuple[tuple[str, bytes], ...] = ()
    emptied: bool = False
    whole: bool = False


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
            yield replace(carrier, notes=tuple((LEVEL_OWNER, note) for note in self._notes[level]))
