"""Frozen dataclasses as JSON that people can read, and back (`reading`)."""

from __future__ import annotations

import json
import re
from dataclasses import is_dataclass
from typing import Any

from .reading import ADDED as ADDED
from .reading import from_data as from_data

# Parts of a plan that are deeper are on one line: those of a kernel's cell.
DEEPEST = 5
CONTAINERS = (dict, list, tuple)


def to_text(value: Any, depth: int = 0) -> str:
    """Return a dataclass or plain data as JSON: whole things on a line each, such as the cells of a kernel."""
    data = vars(value) if is_dataclass(value) else value
    inner = data.values() if isinstance(data, dict) else data
    if depth == DEEPEST or not isinstance(data, CONTAINERS) or not any(map(_holds_more, inner)):
        return to_line(data)
    pad, end = "\n" + " " * (depth + 1), "\n" + " " * depth
    if isinstance(data, dict):
        parts = [f"{to_line(key)}: {to_text(part, depth + 1)}" for key, part in data.items()]
        return "{" + pad + f",{pad}".join(parts) + end + "}"
    return "[" + pad + f",{pad}".join(to_text(part, depth + 1) for part in data) + end + "]"


def to_line(value: Any) -> str:
    """Return a dataclass or plain data as JSON in one line; bytes of names that are not UTF-8 are escaped."""
    return without_surrogates(_encode(value))


_encode = json.JSONEncoder(ensure_ascii=False, default=vars).encode


def without_surrogates(text: str) -> str:
    """Return JSON with the bytes of names that are not UTF-8 escaped, which Python has as in PEP 383."""
    return text if text.isascii() else re.sub("[\ud800-\udfff]", lambda found: f"\\u{ord(found[0]):04x}", text)


def _holds_more(value: Any) -> bool:
    return bool(value) and (isinstance(value, CONTAINERS) or is_dataclass(value))
