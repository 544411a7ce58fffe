"""Writing the outputs of sealing, if they differ from those of the last run."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from ..binary.formats import format_of, load_object
from ..model.files import content_digest, read_bytes, write_if_changed


@dataclass(frozen=True)
class Recipe:
    """How to make the sealed object at `path`: everything on which its content depends.

    The compiled object is at `compiled`, and has the `content_digest`. `private_names` are the private names in it,
    each with its level, and `bounded_sections` the sections whose __start_ and __stop_ symbols the objects of the
    `level` use. If the copy `folds`, the sealed object is empty. If the kernels form a `module`, the sealed object is
    the compiled one with the `notes` (owner, text) added.
    """

    path: str
    compiled: str
    content_digest: str
    level: str
    private_names: Mapping[str, str] = field(default_factory=dict)
    bounded_sections: tuple[str, ...] = ()
    notes: tuple[tuple[str, bytes], ...] = ()
    folds: bool = False
    module: bool = False


class Outputs:
    """The outputs of a run.

    `key` changes with the plan and with isagen, and `number` is the project's in private names. `last` maps each sealed
    object to the digest of its recipe in the last run, and `digests` to that in this run. `changed` are the files that
    changed since the last run.
    """

    def __init__(self, key: str, number: str, last: Mapping[str, str], changed: Collection[str]) -> None:
        self._key = key
        self._number = number
        self._last = last
        self._changed = changed
        self.digests: dict[str, str] = {}
        self._unchanged: set[str] = set()

    def write(self, recipe: Recipe) -> None:
        """Write a sealed object, unless the existing file was made by the same recipe."""
        digest = content_digest(repr((self._key, recipe)).encode(errors="surrogateescape"))
        self.digests[recipe.path] = digest
        if self._last.get(recipe.path) == digest and recipe.path not in self._changed:
            self._unchanged.add(recipe.path)
        else:
            self.write_file(recipe.path, self._content(recipe))

    def write_file(self, path: str, content: bytes | str) -> None:
        """Write a file of the run, if its content changed."""
        if not write_if_changed(path, content):
            self._unchanged.add(path)

    def refresh(self, paths: Iterable[str]) -> None:
        """Update the times of the files among `paths` that this run did not write."""
        for path in self._unchanged.intersection(paths):
            os.utime(path)

    def _content(self, recipe: Recipe) -> bytes:
        file = load_object(recipe.compiled)
        binary_format = format_of(file)
        if recipe.folds:
            return binary_format.emptied(file)
        if not recipe.module:
            return binary_format.seal(file, recipe.level, self._number, recipe.private_names, recipe.bounded_sections)
        content = read_bytes(recipe.compiled)
        for owner, text in recipe.notes:
            content = binary_format.with_note(content, owner, text)
        return content
