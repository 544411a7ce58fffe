"""Writing sealed objects: those whose content differs from what the last run left."""

from __future__ import annotations

import os

from ..binary.digests import blake2b
from ..binary.formats import emptied_object, note_in_object, seal_objects
from ..model.files import write_if_changed

TYPE_CHECKING = False  # as in typing
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from .carriers import Sealed
    from .sealing_work import Work


class Outputs:
    """The sealed objects of a run; `left` tells what made those that the last run left, and `changed` which changed."""

    def __init__(self, work: Work, left: Mapping[str, bytes], changed: Collection[str] | None) -> None:
        self._work = work
        self._left = left if changed is not None else {}
        self._changed = changed or ()
        self.made: dict[str, bytes] = {}  # by path, what made each
        self.written: list[str] = []

    def write(self, one: Sealed) -> None:
        """Write a sealed object, if what makes it is not what made the one that is there."""
        made = self._made(one)
        self.made[one.path] = made
        if self._left.get(one.path) != made or one.path in self._changed:
            write_if_changed(one.path, self._content(one))
            self.written.append(one.path)

    def _made(self, one: Sealed) -> bytes:
        """Return a digest of all that the content of a sealed object depends on."""
        how = self._work.key, one.file.content, one.level, one.private, one.bounded, one.notes, one.emptied, one.whole
        return blake2b(repr((os.fspath(one.file.path), how)).encode(errors="surrogateescape"), digest_size=16).digest()

    def _content(self, one: Sealed) -> bytes:
        if one.emptied:
            return emptied_object(one.file.file)
        file = one.file.file
        if one.whole:
            with open(one.file.path, "rb") as stream:
                content = stream.read()
        else:
            (content,) = seal_objects([file], one.level, self._work.mark, one.private, one.bounded)
        for owner, text in one.notes:
            content = note_in_object(file, content, owner, text)
        return content
