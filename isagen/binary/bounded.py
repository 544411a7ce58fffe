"""The sections that objects look for by name: linkers define where those start and end."""

from __future__ import annotations

from collections.abc import Iterable

from .protocol import NamedSymbol

PREFIXES = ("__start_", "__stop_")


def bounded_sections(symbols: Iterable[NamedSymbol]) -> frozenset[str]:
    """Return the names of the sections whose bounds are among the symbols of objects that do not define them."""
    found = set()
    for symbol in symbols:
        if symbol.name.startswith(PREFIXES) and not symbol.defined:
            found |= {symbol.name.removeprefix(one) for one in PREFIXES if symbol.name.startswith(one)}
    return frozenset(found)
