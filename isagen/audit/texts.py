"""Text and data of reports that every reader can take."""

from __future__ import annotations

TYPE_CHECKING = False  # as in typing
if TYPE_CHECKING:
    from typing import Any


def readable(data: Any) -> Any:
    """Return plain data with text that is valid Unicode: bytes of names that are not UTF-8 are escaped."""
    if isinstance(data, str):
        return data.encode(errors="surrogateescape").decode(errors="backslashreplace")
    if isinstance(data, dict):
        return {key: readable(value) for key, value in data.items()}
    return [readable(item) for item in data] if isinstance(data, (list, tuple)) else data
