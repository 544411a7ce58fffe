"""The tables of stubs among the inputs of a link: no two may have the same stub. If two static libraries have one, both
call the first library's kernels, because linkers never extract the second one's table.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

from ..binary.formats import ARCHIVES, is_object_name
from ..model.errors import BuildError
from ..model.names import TABLE_SYMBOL, UNREGISTERED_SYMBOL


def check_stubs(inputs: Iterable[str]) -> None:
    """Raise `BuildError` where a stub is in two tables among the objects and archives that are linked."""
    first: dict[bytes, tuple[str, frozenset[bytes]]] = {}
    for path in filter(os.path.isfile, inputs):  # a word may be the value of an option
        names = _names_in(path)
        tables = frozenset(name for name in names if name.startswith(TABLE_SYMBOL.encode()))
        for name in names:
            place, known = first.setdefault(name, (path, tables))
            # Two libraries may have the same table.
            if name.startswith(UNREGISTERED_SYMBOL.encode()) and place != path and known.isdisjoint(tables):
                raise BuildError(
                    f"is a stub of {place} and of {path}, and the linker takes one of them for both",
                    where=name.decode(errors="surrogateescape").removeprefix(UNREGISTERED_SYMBOL),
                    remedy="rename one: a stub's name is unique in the program",
                )


def _names_in(path: str) -> Sequence[bytes]:
    """Return the names in an archive, or in an object with a table of stubs; none of other objects."""
    with open(path, "rb") as stream:
        if is_object_name(path):
            return stream.read().split(b"\0") if "isa_stubs" in os.path.basename(path) else ()
        head = stream.read(68)
        if not head.startswith(ARCHIVES) or head[8:10] != b"/ ":  # the first member is the index: places, then names
            return ()
        index = stream.read(int(head[56:66]))
    return index[4 + 4 * int.from_bytes(index[:4], "big") :].split(b"\0")
