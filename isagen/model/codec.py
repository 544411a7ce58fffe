"""Frozen dataclasses as JSON that people can read, and back: the fields' types say what is read."""

from __future__ import annotations

import json
import re
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any, TypeVar

T = TypeVar("T")
Reader = Callable[[Any], Any]
WIDTH = 120
# The key of a field's metadata that says that data written by an earlier version may lack it, and then has its default.
ADDED = "added"
# How Python has the bytes of a name that are not UTF-8 (PEP 383).
SURROGATE = re.compile("[\ud800-\udfff]")


def to_text(data: Any, indent: int = 0, before: int = 0) -> str:
    """Return plain data as JSON: what fits into a line is on one line, the rest is broken up and indented.

    `before` is the number of characters before it on its line.
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

    Raises ValueError, which names the field, where a field is missing (but for those `ADDED`), unknown, or of another
    type.
    """
    try:
        return typing.cast("T", _reader(typing.cast("Any", kind))(data))
    except _MismatchError as problem:
        raise ValueError(f"{kind.__name__}{problem.place} {problem.message}") from None


class _MismatchError(Exception):
    """A part of the data is not of its type; `place` is the way from the whole to the part, as far as it is known."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message
        self.place = ""


@cache
def _reader(kind: Any) -> Reader:
    """Return the function that makes a value of `kind` from data; plans hold many thousand values of few kinds."""
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if is_dataclass(kind):
        return _instance(kind)
    if origin is tuple:
        return _sequence(_reader(arguments[0])) if arguments[1:] == (...,) else _tuple(tuple(map(_reader, arguments)))
    if origin is Mapping:
        return _mapping(_reader(arguments[1]))
    if origin is types.UnionType:  # X | None
        read = _reader(arguments[0])
        return lambda data: None if data is None else read(data)
    return lambda data: _checked(kind, data)


def _instance(kind: Any) -> Reader:
    hints = typing.get_type_hints(kind)
    readers = {field.name: _reader(hints[field.name]) for field in fields(kind)}
    later = {field.name for field in fields(kind) if ADDED in field.metadata}

    def read(data: Any) -> Any:
        found = _checked(dict, data)
        if found.keys() != readers.keys() and found.keys() | later != readers.keys():
            raise _other_fields(readers, found)
        return kind(**dict(_parts(((name, readers[name], value) for name, value in found.items()), ".{}")))

    return read


def _other_fields(known: Iterable[str], found: Iterable[str]) -> _MismatchError:
    unknown = [name for name in found if name not in known]
    missing = [name for name in known if name not in found]
    return _MismatchError(f"has an unknown field {unknown[0]!r}" if unknown else f"lacks the field {missing[0]!r}")


def _sequence(one: Reader) -> Reader:
    def read(data: Any) -> Any:
        items = _checked(list, data)
        return tuple(item for _, item in _parts(((place, one, item) for place, item in enumerate(items)), "[{}]"))

    return read


def _tuple(readers: tuple[Reader, ...]) -> Reader:
    def read(data: Any) -> Any:
        items = _checked(list, data)
        if len(items) != len(readers):
            raise _MismatchError(f"has {len(items)} items, not {len(readers)}")
        return tuple(item for _, item in _parts(zip(range(len(items)), readers, items, strict=True), "[{}]"))

    return read


def _mapping(one: Reader) -> Reader:
    def read(data: Any) -> Any:
        return dict(_parts(((name, one, value) for name, value in _checked(dict, data).items()), ".{}"))

    return read


def _parts(parts: Iterable[tuple[Any, Reader, Any]], step: str) -> Iterable[tuple[Any, Any]]:
    """Yield each part's key and value, read from its data; `step` is how a message writes the way to a part."""
    for key, read, data in parts:
        try:
            yield key, read(data)
        except _MismatchError as problem:
            problem.place = step.format(key) + problem.place
            raise


def _checked(kind: Any, data: Any) -> Any:
    if type(data) is not kind and (not isinstance(data, kind) or isinstance(data, bool)):
        raise _MismatchError(f"is {type(data).__name__}, not {kind.__name__}")
    return data
