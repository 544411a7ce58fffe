"""The names in sealed objects, kept from one audited link to the next: most links follow an edit of one kernel.

What was kept of an object counts only while its content is the same, and the code that read it as well. Sealing gives
objects that stay as they are another time.
"""

from __future__ import annotations

import os
from sys import intern

from ..binary import formats
from ..binary.formats import load_object
from ..binary.private_names import name_in_source
from ..binary.protocol import Binding
from ..model import names
from ..model.digests import blake2b
from ..model.files import read_bytes
from ..model.kept import read_kept, state_of, states_of, write_kept
from ..model.names import is_sealed_name
from ..model.own_files import own_on_disk

TYPE_CHECKING = False  # as in typing
if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..model.kept import State

    # Of an object: the names by which it refers to what others know, and those, as in kernel sources, of what it
    # defines for its level alone.
    Names = tuple[tuple[str, ...], tuple[str, ...]]
    # What is kept of an object: its state, a digest of its content, its level, and its names.
    Known = tuple[State, bytes, str, Names]


def sealed_names(objects: Mapping[str, str], kept_in: str = "") -> Mapping[str, Names]:
    """Return the names in sealed objects (paths, with levels); of those that are missing there are none.

    They are kept in the file at `kept_in`, if one is given.
    """
    kept = _kept(kept_in) if kept_in else {}
    found: dict[str, Known] = {}
    for path, level in objects.items():
        try:
            state = state_of(path)
        except OSError:
            continue
        known = kept.get(path)
        if known is not None and known[2] == level and known[0] == state:
            found[path] = known
            continue
        digest = _digest(path)
        same = known is not None and known[2] == level and known[1] == digest
        found[path] = state, digest, level, known[3] if known is not None and same else _names_in(path, level)
    if kept_in and found != kept:
        write_kept(kept_in, [_code(), found])
    return {path: here for path, (_, _, _, here) in found.items()}


def _kept(path: str) -> dict[str, Known]:
    """Return what was kept of each object."""
    kept = read_kept(path)
    if not isinstance(kept, list) or kept[0] != _code():
        return {}
    known: dict[str, Known] = kept[1]
    return known


def _digest(path: str) -> bytes:
    return blake2b(read_bytes(path), digest_size=16).digest()


def _code() -> dict[str, State]:
    """Return the states of the modules that read objects: with other ones, nothing that was kept counts."""
    read_by = [__file__, names.__file__]
    for folder, _, files in os.walk(os.path.dirname(formats.__file__)):
        read_by += [os.path.join(folder, name) for name in files if name.endswith(".py")]
    return states_of(own_on_disk(sorted(read_by)))


def _names_in(path: str, level: str) -> Names:
    """Return the names in a sealed object."""
    known, private = [], []
    for symbol in load_object(path).symbols:
        if not is_sealed_name(symbol.name, level):
            known.append(intern(symbol.name))
        elif symbol.defined and symbol.binding == Binding.GLOBAL:
            private.append(intern(name_in_source(symbol.name)))
    return tuple(known), tuple(private)
