"""C++ names as people write them."""

from __future__ import annotations

from ..binary.formats import FORMATS


def demangle(symbol: str) -> str:
    """Return a symbol as C++ writes it, or unchanged. The end of a name that is private to a level stays."""
    shown = (one.mangling.demangle(symbol) for one in FORMATS)
    return next((text for text in shown if text != symbol), symbol)
