"""Bytes as the elements of an array in C."""

from __future__ import annotations

BYTES_IN_LINE = 32


def array_text(content: bytes) -> str:
    """Return bytes as the elements of a C array; string literals in C have a maximum length."""
    lines = (content[place : place + BYTES_IN_LINE] for place in range(0, len(content), BYTES_IN_LINE))
    return "\n".join(f"  {', '.join(map(str, line))}," for line in lines)
