"""Reads frozen dataclasses from JSON that `json.dumps(value, default=vars)` wrote, and checks the fields' types."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from types import UnionType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

T = TypeVar("T")
Reader = Callable[[Any], Any]


def from_data(kind: type[T], data: Any) -> T:
    """Return the instance of `kind` that `data`, read from JSON, describes.

    Raises ValueError with the field's name if a field is unknown, has another type, or is missing without a default.
    """
    value: T = _at(kind.__name__, _reader(kind), data)  # type: ignore[arg-type]
    return value


@cache
def _reader(kind: Any) -> Reader:
    """Return the function that reads a value of type `kind`. Its errors start with a path: ``.levels[0] is ...``."""
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is UnionType:  # X | None
        read = _reader(arguments[0])
        return lambda data: None if data is None else read(data)
    if origin is tuple:
        return _tuple([_reader(item) for item in arguments if item is not ...], arguments[-1] is ...)
    if origin is Mapping:
        read = _reader(arguments[1])
        return lambda data: _parts(_checked(dict, data), lambda name: read)
    if is_dataclass(kind):
        return _instance(kind)
    return lambda data: _checked(kind, data)


def _instance(kind: Any) -> Reader:
    types = get_type_hints(kind)
    readers = {field.name: _reader(types[field.name]) for field in fields(kind)}
    needed = {field.name for field in fields(kind) if field.default is field.default_factory is MISSING}

    def read(data: Any) -> Any:
        names = _checked(dict, data).keys()
        for name in names - readers.keys():
            raise ValueError(f" has an unknown field {name!r}")
        for name in needed - names:
            raise ValueError(f" lacks the field {name!r}")
        return kind(**_parts(data, readers.__getitem__))

    return read


def _parts(data: Mapping[str, Any], reader_of: Callable[[str], Reader]) -> dict[str, Any]:
    return {name: _at(f".{name}", reader_of(name), item) for name, item in data.items()}


def _at(path: str, read: Reader, data: Any) -> Any:
    try:
        return read(data)
    except ValueError as problem:
        raise ValueError(f"{path}{problem}") from None


def _tuple(readers: list[Reader], repeated: bool) -> Reader:
    def read(data: Any) -> Any:
        items = _checked(list, data)
        expected = readers * len(items) if repeated else readers
        if len(items) != len(expected):
            raise ValueError(f" has {len(items)} items, not {len(expected)}")
        return tuple(_at(f"[{number}]", expected[number], item) for number, item in enumerate(items))

    return read


def _checked(kind: Any, data: Any) -> Any:
    if type(data) is not kind and (not isinstance(data, kind) or isinstance(data, bool)):
        raise ValueError(f" is {type(data).__name__}, not {kind.__name__}")
    return data
