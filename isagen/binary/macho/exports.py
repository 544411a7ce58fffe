"""Reads the trie of a Mach-O file's exports (Apple's <mach-o/loader.h>, "export_off")."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..reader import MORE_NAMES, NAMES
from .stream import Stream

KIND, ABSOLUTE = 3, 2  # the bits of the kind in an export's flags; the kind of an absolute symbol
WEAK, REEXPORT, RESOLVER = 4, 8, 0x10


class Export(NamedTuple):
    """A symbol that other files can bind to. `address` and `resolver` count from the file's start in memory.

    If there is a `resolver`, the loader calls it, and binds to the address that the resolver returns. `address` is then
    that of a short piece of code which jumps to the function (in Apple's header, a stub).
    """

    name: str
    address: int
    weak: bool
    resolver: int = 0


def exports(data: bytes, start: int, size: int) -> Iterator[Export]:
    """Yield the exports in the trie at offset `start`, except re-exports and absolute symbols.

    Raises `ValueError` if the trie is damaged.
    """
    waiting, seen, left = [(0, b"")] if size else [], {0}, NAMES * size + MORE_NAMES
    while waiting:
        offset, name = waiting.pop()
        node = Stream(data, start + offset, size - offset)
        length = node.uleb()
        children = node.place + length
        left -= len(name)
        if left < 0:
            raise ValueError("the names of its exports are too long")
        if length:
            flags, address = node.uleb(), node.uleb()
            if not flags & REEXPORT and flags & KIND != ABSOLUTE:
                resolver = node.uleb() if flags & RESOLVER else 0
                yield Export(name.decode(errors="surrogateescape"), address, bool(flags & WEAK), resolver)
        node.place = children
        for _ in range(node.byte()):
            edge, child = node.text(), node.uleb()
            if child in seen or child >= size:
                raise ValueError("the trie of its exports is no tree")
            seen.add(child)
            waiting.append((child, name + edge))
