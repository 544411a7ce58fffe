"""Writing sealed objects: those whose content differs from what the last run left."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping

from ..binary.formats import emptied_object, note_in_object, seal_objects
from ..model.digests import blake2b
from ..model.files import read_bytes, write_if_changed
from .carriers import Sealed
from .sealing_work import Work


class Outputs:
    """The sealed objects of a run; `left` tells what made those that the last run left, and `changed` which changed."""

    def __init__(self, work: Work, left: Mapping[str, bytes], changed: Collection[str] | None) -> None:
        self._work = work
        self._left = left if changed is not None else {}
        self._changed = changed or ()
        self.made: dict[str, bytes] = {}  # by path, what made each
        self._kept: set[str] = set()

    def write(self, one: Sealed) -> None:
        """Write a sealed object, if what makes it is not what made the one that is there."""
        self.made[one.path] = made = self._made(one)
        if self._left.get(one.path) == made and one.path not in self._changed:
            self.keep(one.path)
        else:
            self.write_text(one.path, self._content(one))

    def write_text(self, path: str, content: bytes | str) -> None:
        """Write another file of the run, if its content is not that which is there."""
        if not write_if_changed(path, content):
            self.keep(path)

    def keep(self, path: str) -> None:
        """Leave a file of the run as it is."""
        self._kept.add(path)

    def refresh(self, declared: Iterable[str]) -> None:
        """Give those of the `declared` files that stay as they are the time of this run.

        Ninja takes an output that is older than an input for a reason to run the step, after each configuring.
        """
        for path in self._kept.intersection(declared):
            os.utime(path)

    def _made(self, one: Sealed) -> bytes:
        """Return a digest of all that the content of a sealed object depends on."""
        how = self._work.key, one.file.content, one.level, one.private, one.bounded, one.notes, one.emptied, one.whole
        return _digest((os.fspath(one.file.path), how))

    def _content(self, one: Sealed) -> bytes:
        if one.emptied:
            return emptied_object(one.file.file)
        file = one.file.file
        if one.whole:
            content = read_bytes(one.file.path)
        else:
            (content,) = seal_objects([file], one.level, self._work.mark, one.private, one.bounded)
        for owner, text in one.notes:
            content = note_in_object(file, content, owner, text)
        return content


def _digest(made_of: object) -> bytes:
    return blake2b(repr(made_of).encode(errors="surrogateescape"), digest_size=16).digest()
