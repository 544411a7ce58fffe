"""Writing sealed objects, if their content differs from that of the last run."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from hashlib import blake2b

from ..binary.formats import format_of, load_object
from ..model.files import read_bytes, write_if_changed
from .compiled import Compiled
from .sealing_work import Work


@dataclass(frozen=True)
class Sealed:
    """A sealed object: its path, the compiled object, and what determines its content.

    `private` are the names in it that are private to the `level`, `bounded` the sections that objects of the level look
    for by name. It is `emptied` where it folds. Of a whole module it is `whole`, with `notes`: (owner, text).
    """

    path: str
    file: Compiled
    level: str
    private: tuple[str, ...] = ()
    bounded: tuple[str, ...] = ()
    notes: tuple[tuple[str, bytes], ...] = ()
    emptied: bool = False
    whole: bool = False


class Outputs:
    """The outputs of a run.

    `last` maps each output of the last run to a digest of its inputs, and `changed` are the files that changed since.
    """

    def __init__(self, work: Work, last: Mapping[str, bytes], changed: Collection[str]) -> None:
        self._work = work
        self._last = last
        self._changed = changed
        self.made: dict[str, bytes] = {}  # digests of inputs, by output
        self._unchanged: set[str] = set()

    def write(self, one: Sealed) -> None:
        """Write a sealed object, if its inputs are not those of the existing file."""
        how = self._work.key, one.file.content, one.level, one.private, one.bounded, one.notes, one.emptied, one.whole
        made = blake2b(repr((one.file.path, how)).encode(errors="surrogateescape"), digest_size=16).digest()
        self.made[one.path] = made
        if self._last.get(one.path) == made and one.path not in self._changed:
            self._unchanged.add(one.path)
        else:
            self.write_text(one.path, self._content(one))

    def write_text(self, path: str, content: bytes | str) -> None:
        """Write another file of the run, if its content changed."""
        if not write_if_changed(path, content):
            self._unchanged.add(path)

    def refresh(self, declared: Iterable[str]) -> None:
        """Update the times of the `declared` files that were not written."""
        for path in self._unchanged.intersection(declared):
            os.utime(path)

    def _content(self, one: Sealed) -> bytes:
        file = load_object(one.file.path)
        own = format_of(file)
        if one.emptied:
            return own.emptied(file)
        if one.whole:
            content = read_bytes(one.file.path)
        else:
            content = own.seal(file, one.level, self._work.build.sealing.project_number, one.private, one.bounded)
        for owner, text in one.notes:
            content = own.with_note(content, owner, text)
        return content
