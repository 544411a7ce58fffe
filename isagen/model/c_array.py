"""Writes bytes as the elements of an array in C."""

from __future__ import annotations

BYTES_IN_LINE = 32


def array_text(content: bytes) -> str:
    """Return bytes as the elements of a C array, not as a string literal, whose length C limits."""
    lines = (content[start : start + BYTES_IN_LINE] for start in range(0, len(content), BYTES_IN_LINE))
    return "\n".join(f"  {', '.join(map(str, line))}," for line in lines)
