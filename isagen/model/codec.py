"""Frozen dataclasses as JSON that people can read, and back: the fields' types say what is read."""

from __future__ import annotations

import json
import re
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any, TypeVar

from .frozen import fields, is_dataclass

T = TypeVar("T")
Reader = Callable[[Any], Any]
# Parts of a plan that are deeper are on one line: those of a kernel's cell.
DEEPEST = 5
CONTAINERS = (dict, list, tuple)
# The key of a field's metadata that says that data written by an earlier version may lack it, and then has its default.
ADDED = "added"


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


def from_data(kind: type[T], data: Any) -> T:
    """Return the `kind` that `data` describes, where `data` is what `to_text` made of one, and JSON read.

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
        if type(data) is tuple:  # JSON has none: who put it there has read it
            return data
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
