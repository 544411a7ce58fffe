"""Frozen dataclasses as JSON that people can read, and back: the fields' types say what is read."""

from __future__ import annotations

import json
import re
import types
import typing
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any, TypeVar

T = TypeVar("T")
WIDTH = 120
# How Python has the bytes of a name that are not UTF-8 (PEP 383).
SURROGATE = re.compile("[\ud800-\udfff]")


def to_text(data: Any, indent: int = 0, before: int = 0) -> str:
    """Return plain data as JSON: what fits into a line is on one line, the rest is broken up and indented.

    `before` is what stands before it on its line, in characters.
    """
    line = _line(data)
    if indent + before + len(line) < WIDTH or not data or not isinstance(data, (dict, list, tuple)):
        return line
    inner = " " * (indent + 1)
    if isinstance(data, dict):
        keys = {_line(key) + ": ": value for key, value in data.items()}
        parts = [inner + key + to_text(value, indent + 1, len(key)) for key, value in keys.items()]
        return "{\n" + ",\n".join(parts) + "\n" + " " * indent + "}"
    parts = [inner + to_text(value, indent + 1) for value in data]
    return "[\n" + ",\n".join(parts) + "\n" + " " * indent + "]"


def _line(data: Any) -> str:
    """Return data as JSON in one line; bytes of names that are not UTF-8 are escaped, so that the text is."""
    return SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", json.dumps(data, ensure_ascii=False))


def from_data(kind: type[T], data: Any) -> T:
    """Return the `kind` that `data` describes, where `data` is what ``dataclasses.asdict`` and JSON made of one.

    Raises ValueError, which names the field, where a field is missing, unknown, or of another type.
    """
    return typing.cast("T", _value(kind, data, kind.__name__))


def _value(kind: Any, data: Any, where: str) -> Any:
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if is_dataclass(kind):
        return _instance(kind, data, where)
    if origin is tuple:
        items = _checked(list, data, where)
        if arguments[1:] == (...,):
            return tuple(_value(arguments[0], item, f"{where}[{place}]") for place, item in enumerate(items))
        if len(items) != len(arguments):
            raise ValueError(f"{where} has {len(items)} items, not {len(arguments)}")
        return tuple(_value(one, item, where) for one, item in zip(arguments, items, strict=True))
    if origin is Mapping or kind is Mapping:
        items = _checked(dict, data, where)
        return {name: _value(arguments[1], item, f"{where}.{name}") for name, item in items.items()}
    if origin is types.UnionType:  # X | None
        return None if data is None else _value(arguments[0], data, where)
    return _checked(typing.get_origin(kind) or kind, data, where)


def _instance(kind: Any, data: Any, where: str) -> Any:
    known = _fields(kind)
    found = _checked(dict, data, where)
    for name in found:
        if name not in known:
            raise ValueError(f"{where} has an unknown field {name!r}")
    for name in known:
        if name not in found:
            raise ValueError(f"{where} lacks the field {name!r}")
    return kind(**{name: _value(known[name], value, f"{where}.{name}") for name, value in found.items()})


@cache
def _fields(kind: Any) -> dict[str, Any]:
    hints = typing.get_type_hints(kind)
    return {field.name: hints[field.name] for field in fields(kind)}


def _checked(kind: Any, data: Any, where: str) -> Any:
    if not isinstance(data, kind) or (kind is int and isinstance(data, bool)):
        raise ValueError(f"{where} is {type(data).__name__}, not {kind.__name__}")
    return data
