"""Frozen dataclasses from the JSON that `codec` writes: the fields' types say what is read.

Steps of a build read plans of many thousand values. So values are made without noting where they are; where one does
not fit, the data is read again, to say where. Types are read as they are written in the source: `typing` would take
longer to load than a plan takes to read.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from dataclasses import fields, is_dataclass
from typing import Any, TypeVar

T = TypeVar("T")
Reader = Callable[[Any, bool], Any]  # of data, and whether an error is to say where

# The key of a field's metadata that says that data written by an earlier version may lack it, and then has its default.
ADDED = "added"
PLAIN = {kind.__name__: kind for kind in (str, int, float, bool)}


def from_data(kind: type[T], data: Any) -> T:
    """Return the `kind` that `data` describes, where `data` is what `to_text` made of one, and JSON read.

    Raises ValueError, which names the field, where a field is missing (but for those `ADDED`), unknown, or of another
    type.
    """
    read: Callable[[Any, bool], T] = _of_class(kind)
    try:
        return read(data, False)
    except _MismatchError:
        try:
            return read(data, True)
        except _MismatchError as problem:
            raise ValueError(f"{kind.__name__}{problem.place} {problem.message}") from None


class _MismatchError(Exception):
    """A part of the data is not of its type; `place` is the way from the whole to the part, as far as it is known."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message
        self.place = ""


_readers: dict[Any, Reader] = {}  # by class; plans hold many values of few kinds


def _of_class(kind: Any) -> Reader:
    if kind not in _readers:
        _readers[kind] = _instance(kind) if is_dataclass(kind) else _value(kind)
    return _readers[kind]


def _of_type(text: str, module: str) -> Reader:
    """Return the function that makes a value of a type, written as in a `module`."""
    if text.endswith(" | None"):
        return _optional(_of_type(text.removesuffix(" | None"), module))
    name, _, rest = text.partition("[")
    if not rest:
        return _of_class(PLAIN[name] if name in PLAIN else vars(sys.modules[module])[name])
    arguments = _arguments(rest.removesuffix("]"))
    if name == "Mapping":
        return _mapping(_of_type(arguments[1], module))
    if name != "tuple":
        raise TypeError(f"{module}: {text} is no type that is read")
    if arguments[1:] == ["..."]:
        return _sequence(_of_type(arguments[0], module))
    return _tuple([_of_type(one, module) for one in arguments])


def _arguments(text: str) -> list[str]:
    """Return the types between the brackets of a type."""
    found = [""]
    depth = 0
    for letter in text:
        depth += (letter == "[") - (letter == "]")
        if letter == "," and not depth:
            found.append("")
        else:
            found[-1] += letter
    return [one.strip() for one in found]


def _instance(kind: Any) -> Reader:
    readers = {one.name: _of_type(kind.__annotations__[one.name], kind.__module__) for one in fields(kind)}
    later = {one.name for one in fields(kind) if ADDED in one.metadata}

    def read(data: Any, say_where: bool) -> Any:
        found = _checked(dict, data)
        if found.keys() != readers.keys() and found.keys() | later != readers.keys():
            raise _other_fields(readers, found)
        if say_where:
            _find(((name, readers[name], value) for name, value in found.items()), ".{}")
        return kind(**{name: readers[name](value, False) for name, value in found.items()})

    return read


def _other_fields(known: Iterable[str], found: Iterable[str]) -> _MismatchError:
    unknown = [name for name in found if name not in known]
    missing = [name for name in known if name not in found]
    return _MismatchError(f"has an unknown field {unknown[0]!r}" if unknown else f"lacks the field {missing[0]!r}")


def _sequence(one: Reader) -> Reader:
    def read(data: Any, say_where: bool) -> Any:
        if type(data) is tuple:  # JSON has none: who put it there has read it
            return data
        items = _checked(list, data)
        if say_where:
            _find(((place, one, item) for place, item in enumerate(items)), "[{}]")
        return tuple([one(item, False) for item in items])

    return read


def _tuple(readers: list[Reader]) -> Reader:
    def read(data: Any, say_where: bool) -> Any:
        items = _checked(list, data)
        if len(items) != len(readers):
            raise _MismatchError(f"has {len(items)} items, not {len(readers)}")
        if say_where:
            _find(zip(range(len(items)), readers, items, strict=True), "[{}]")
        return tuple([one(item, False) for one, item in zip(readers, items, strict=True)])

    return read


def _mapping(one: Reader) -> Reader:
    def read(data: Any, say_where: bool) -> Any:
        items = _checked(dict, data)
        if say_where:
            _find(((name, one, value) for name, value in items.items()), ".{}")
        return {name: one(value, False) for name, value in items.items()}

    return read


def _optional(one: Reader) -> Reader:
    return lambda data, say_where: None if data is None else one(data, say_where)


def _value(kind: Any) -> Reader:
    return lambda data, say_where: data if type(data) is kind else _checked(kind, data)


def _find(parts: Iterable[tuple[Any, Reader, Any]], step: str) -> None:
    """Raise for the first part that does not fit; `step` is how a message writes the way to a part."""
    for key, read, data in parts:
        try:
            read(data, True)
        except _MismatchError as problem:
            problem.place = step.format(key) + problem.place
            raise


def _checked(kind: Any, data: Any) -> Any:
    if type(data) is not kind and (not isinstance(data, kind) or isinstance(data, bool)):
        raise _MismatchError(f"is {type(data).__name__}, not {kind.__name__}")
    return data
