"""Writing the outputs of sealing, if they differ from those of the last run."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Mapping

from ..binary.formats import load_object
from ..model.files import content_digest, write_if_changed
from .compiled import Compiled


class Outputs:
    """The outputs of a run.

    `key` changes with the plan and with isagen. `last` and `digests` map each sealed object to the digest of its
    inputs, in the last run and in this one. `changed` are the files that changed since the last run.
    """

    def __init__(self, key: str, last: Mapping[str, str], changed: Collection[str]) -> None:
        self._key = key
        self._last = last
        self._changed = changed
        self.digests: dict[str, str] = {}
        self._unchanged: set[str] = set()

    def write_sealed(self, path: str, compiled: Compiled, make: Callable[..., bytes], *arguments: object) -> None:
        """Write the sealed object that `make` returns for a compiled object and `arguments`.

        If the existing file was made from the same object by the same `make` and `arguments`, `make` is not called.
        """
        inputs = self._key, compiled.content_digest, make.__name__, arguments
        digest = content_digest(repr(inputs).encode(errors="surrogateescape"))
        self.digests[path] = digest
        if self._last.get(path) == digest and path not in self._changed:
            self._unchanged.add(path)
        else:
            self.write_file(path, make(load_object(compiled.path), *arguments))

    def write_file(self, path: str, content: bytes | str) -> None:
        """Write a file of the run, if its content changed."""
        if not write_if_changed(path, content):
            self._unchanged.add(path)

    def refresh(self, paths: Iterable[str]) -> None:
        """Update the times of the files among `paths` that this run did not write."""
        for path in self._unchanged.intersection(paths):
            os.utime(path)
