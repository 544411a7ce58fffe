"""Writes frozen dataclasses as JSON with the number of a format, and reads them, with a check of the fields' types."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import is_dataclass
from functools import cache, partial
from types import UnionType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

T = TypeVar("T")


def to_text(value: Any, file_format: int) -> str:
    """Return an instance of a dataclass as JSON that contains the number `file_format`."""
    return json.dumps({"format": file_format, **vars(value)}, separators=(",", ":"), default=vars)


def from_text(kind: type[T], text: bytes | str, *formats: int) -> T:
    """Return the instance of `kind` that the JSON `text` describes.

    Raises ValueError if the text is damaged, or of none of the `formats`, of which the newest is last.
    """
    try:
        data = json.loads(text)
    except RecursionError:
        raise ValueError("its values are nested too deep") from None
    file_format = data.pop("format", None) if isinstance(data, dict) else None
    if file_format not in formats:
        raise ValueError(f"it is of format {file_format}, and this isagen reads format {formats[-1]}")
    return from_data(kind, data)


def from_data(kind: type[T], data: Any) -> T:
    """Return the instance of `kind` that `data`, read from JSON, describes.

    Raises ValueError if a field is unknown, has another type, or is missing and has no default.
    """
    try:
        value: T = _reader(kind)(data)  # type: ignore[arg-type]
    except (KeyError, TypeError, ValueError) as problem:
        raise ValueError(f"it is no {kind.__name__}: {problem}") from None
    return value


@cache
def _reader(kind: Any) -> Callable[[Any], Any]:
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is UnionType:  # X | None
        read = _reader(arguments[0])
        return lambda data: None if data is None else read(data)
    if origin is tuple and arguments[-1] is ...:
        read = _reader(arguments[0])
        return lambda data: tuple(map(read, _checked(list, data)))
    if origin is tuple:
        readers = tuple(map(_reader, arguments))
        return lambda data: tuple(one(item) for one, item in zip(readers, _checked(list, data), strict=True))
    if origin is Mapping:
        read = _reader(arguments[1])
        return lambda data: {name: read(item) for name, item in _checked(dict, data).items()}
    if is_dataclass(kind):
        make: Any = kind
        fields = {name: _reader(hint) for name, hint in get_type_hints(kind).items()}
        return lambda data: make(**{name: fields[name](item) for name, item in _checked(dict, data).items()})
    return partial(_checked, kind)


def _checked(kind: Any, data: Any) -> Any:
    if type(data) is not kind and (not isinstance(data, kind) or isinstance(data, bool)):
        raise TypeError(f"a value is {type(data).__name__}, not {kind.__name__}")
    return data
