"""Checks the tables of stubs in a link: a stub may be in one table only.

If the tables of two static libraries have the same stub, both libraries call the kernels of the first, because linkers
do not extract the second table.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

from ..binary.formats import ARCHIVES, is_object_name
from ..model.errors import BuildError
from ..model.files import read_bytes
from ..model.names import TABLE_SYMBOL, UNREGISTERED_SYMBOL


def check_stubs(inputs: Iterable[str]) -> None:
    """Raise `BuildError` if two tables in the objects and static libraries of a link have the same stub."""
    first: dict[bytes, tuple[str, frozenset[bytes]]] = {}
    for path in filter(os.path.isfile, inputs):  # an input may be the value of an option instead
        names = names_in(path)
        tables = frozenset(name for name in names if name.startswith(TABLE_SYMBOL.encode()))
        for stub in (name for name in names if name.startswith(UNREGISTERED_SYMBOL.encode())):
            first_path, first_tables = first.setdefault(stub, (path, tables))
            if first_path != path and first_tables.isdisjoint(tables):  # two libraries may contain the same table
                raise BuildError(
                    f"is a stub of {first_path} and of {path}, and the linker uses one of them for both",
                    where=stub.decode(errors="surrogateescape").removeprefix(UNREGISTERED_SYMBOL),
                    remedy="rename one: a stub's name is unique in the program",
                )


def names_in(path: str) -> Sequence[bytes]:
    """Return the symbols of a static library, or the strings of an object that is a table of stubs.

    The result is empty for other files, and for libraries that do not start with an index named ``/``.
    """
    if is_object_name(path):
        return list(filter(None, read_bytes(path).split(b"\0"))) if "isa_stubs" in os.path.basename(path) else ()
    with open(path, "rb") as stream:
        head = stream.read(68)
        if not head.startswith(ARCHIVES) or head[8:10] != b"/ ":  # the first member is the index of symbols
            return ()
        index = stream.read(int(head[56:66]))
    return index[4 + 4 * int.from_bytes(index[:4], "big") :].split(b"\0")  # a count, offsets, then names
