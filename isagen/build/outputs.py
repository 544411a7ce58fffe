"""Writing the outputs of sealing, if they differ from those of the last run."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from ..binary.formats import format_of, load_object
from ..model.files import content_digest, read_bytes, write_if_changed
from .sealing_work import Work


@dataclass(frozen=True)
class Sealed:
    """A sealed object at `path`, and everything that its content depends on.

    The compiled object is at `compiled`, and has the `content_digest`. `private_names` are the private names in it, and
    `bounded_sections` the sections whose __start_ and __stop_ symbols the objects of the `level` use. The object is
    emptied if it `folds`. If the kernels form a `module`, it is copied, and the `notes` (owner, text) are added.
    """

    path: str
    compiled: str
    content_digest: str
    level: str
    private_names: tuple[str, ...] = ()
    bounded_sections: tuple[str, ...] = ()
    notes: tuple[tuple[str, bytes], ...] = ()
    folds: bool = False
    module: bool = False


class Outputs:
    """The outputs of a run.

    `last` maps each sealed object of the last run to the digest of its inputs, `digests` those of this run. `changed`
    are the files that changed since the last run.
    """

    def __init__(self, work: Work, last: Mapping[str, str], changed: Collection[str]) -> None:
        self._work = work
        self._last = last
        self._changed = changed
        self.digests: dict[str, str] = {}
        self._unchanged: set[str] = set()

    def write(self, sealed: Sealed) -> None:
        """Write a sealed object, unless the existing file has the same inputs."""
        digest = content_digest(repr((self._work.key, sealed)).encode(errors="surrogateescape"))
        self.digests[sealed.path] = digest
        if self._last.get(sealed.path) == digest and sealed.path not in self._changed:
            self._unchanged.add(sealed.path)
        else:
            self.write_file(sealed.path, self._content(sealed))

    def write_file(self, path: str, content: bytes | str) -> None:
        """Write any file of the run, if its content changed."""
        if not write_if_changed(path, content):
            self._unchanged.add(path)

    def refresh(self, paths: Iterable[str]) -> None:
        """Update the times of the files among `paths` that this run did not write."""
        for path in self._unchanged.intersection(paths):
            os.utime(path)

    def _content(self, sealed: Sealed) -> bytes:
        file = load_object(sealed.compiled)
        binary_format = format_of(file)
        if sealed.folds:
            return binary_format.emptied(file)
        if not sealed.module:
            number = self._work.build.sealing.project_number
            return binary_format.seal(file, sealed.level, number, sealed.private_names, sealed.bounded_sections)
        content = read_bytes(sealed.compiled)
        for owner, text in sealed.notes:
            content = binary_format.with_note(content, owner, text)
        return content
