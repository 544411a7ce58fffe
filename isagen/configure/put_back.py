"""Keeps what configuring left in a build folder in the user's cache, and puts it back when the folder is made again.

Only a folder at the same path gets it, because some of the files name that path. Large files of which another copy
exists, the bundle and the decoder, are not kept but copied from there.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

from ..model.digests import digest_of
from ..model.files import read_bytes, write_if_changed
from ..model.kept import State, state_of, user_folder, write_kept

# Contents by path, with the permissions before the umask; and files by the paths of copies, with their states.
Contents = dict[str, tuple[int, bytes]]
Copies = dict[str, tuple[str, State]]

# The records that are kept, those of the last configurings: one of 20 kernels takes 0.3 MB, one of 1000 takes 2 MB.
MOST = 32


def place_of(record: str) -> str:
    """Return where the user's cache keeps what belongs to the `record` of a build folder."""
    return os.path.join(user_folder("answers"), digest_of(os.fsencode(os.path.abspath(record))))


def keep_longer(place: str, record: Mapping[str, Any], paths: Iterable[str], copies: Mapping[str, str]) -> None:
    """Keep a record in the user's cache with the files at `paths`, and remove the oldest of more than `MOST` records.

    `copies` gives, by path, another file that may have the same content: then that file's path is kept in place of the
    content. A cache that cannot be written keeps nothing.
    """
    try:
        folder = os.path.dirname(place)
        os.makedirs(folder, exist_ok=True)
        contents, copied = _contents_of(paths, copies)
        write_kept(place, {**record, "contents": contents, "copies": copied})
        found = sorted((entry.stat().st_mtime_ns, entry.path) for entry in os.scandir(folder))
        for _, path in found[:-MOST]:
            os.unlink(path)
    except OSError:
        pass


def _contents_of(paths: Iterable[str], copies: Mapping[str, str]) -> tuple[Contents, Copies]:
    contents, copied = {}, {}
    for path in paths:
        content, source = read_bytes(path), copies.get(path)
        if source is not None and read_bytes(source) == content:
            copied[path] = (source, state_of(source))
        else:
            contents[path] = (0o777 if os.stat(path).st_mode & 0o111 else 0o666, content)
    return contents, copied


def put_back(contents: Contents, copies: Copies) -> bool:
    """Write the files into the build folder; return whether the files that were copied are still as they were."""
    for path, (mode, content) in contents.items():
        write_if_changed(path, content, mode)
    for path, (source, _) in copies.items():
        write_if_changed(path, read_bytes(source))
    return all(state_of(source) == state for source, state in copies.values())
