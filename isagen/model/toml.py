"""Reads TOML strictly: every key is read by name and type, and a key that is not read is an error."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import MISSING, fields
from functools import cache
from pathlib import Path
from types import UnionType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from .errors import IsagenError, did_you_mean

T = TypeVar("T")


class Section:
    """One TOML table, which records the keys that were read. A test with `in` counts as reading the key.

    Every message starts with the file and the dotted key. `path` is the table's own dotted key, "" for the whole file.
    """

    def __init__(self, data: Mapping[str, Any], file: str, error: type[IsagenError], path: str = "") -> None:
        self._data = data
        self._file = file
        self._error = error
        self._path = path
        self._read: list[str] = []

    def where(self, key: str = "") -> str:
        """Return ``file: dotted.key`` for a message."""
        dotted = ".".join(part for part in (self._path, key) if part)
        return f"{self._file}: {dotted}" if dotted else self._file

    def fail(self, key: str, message: str, remedy: str = "") -> IsagenError:
        """Return (not raise) an error about `key`."""
        return self._error(message, where=self.where(key), remedy=remedy)

    def __contains__(self, key: str) -> bool:
        self._read.append(key)
        return key in self._data

    def has_type(self, key: str, kind: type) -> bool:
        """Return whether the value of `key` is of a type, without counting `key` as read."""
        return isinstance(self._data.get(key), kind)

    def _get(self, key: str, kind: type, described: str, default: Any) -> Any:
        self._read.append(key)
        if key not in self._data:
            if default is ...:
                raise self.fail(key, "is missing", f"give it as {described}")
            return default
        value = self._data[key]
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            raise self.fail(key, f"must be {described}, not {value!r}")
        return value

    def string(self, key: str, default: Any = ...) -> str:
        """Read a string."""
        return self._get(key, str, "a string", default)  # type: ignore[no-any-return]

    def integer(self, key: str, default: Any = ...) -> int:
        """Read an integer."""
        return self._get(key, int, "an integer", default)  # type: ignore[no-any-return]

    def strings(self, key: str, default: Any = ...) -> tuple[str, ...]:
        """Read a list of strings; a single string is a list of one."""
        self._read.append(key)
        value = self._data.get(key)
        if isinstance(value, str):
            return (value,)
        value = self._get(key, list, "a list of strings", default)
        for item in value:
            if not isinstance(item, str):
                raise self.fail(key, f"must be a list of strings, but contains {item!r}")
        return tuple(value)

    def array(self, key: str) -> list[Any]:
        """Read a list of anything."""
        return self._get(key, list, "a list", ...)  # type: ignore[no-any-return]

    def section(self, key: str) -> Section:
        """Read a nested table; an absent one is empty."""
        value = self._get(key, dict, "a table", {})
        path = f"{self._path}.{key}" if self._path else key
        return Section(value, self._file, self._error, path)

    def sections(self, key: str) -> Iterator[tuple[str, Section]]:
        """Read a table of tables: yield each name with its section."""
        outer = self.section(key)
        for name in outer._data:
            yield name, outer.section(name)

    def tables(self, key: str) -> Iterator[Section]:
        """Read an array of tables: yield a section for each."""
        for number, value in enumerate(self._get(key, list, "an array of tables", [])):
            path = f"{self._path}.{key}" if self._path else key
            if not isinstance(value, dict):
                raise self.fail(key, f"must be an array of tables, but contains {value!r}", f"write [[{path}]]")
            yield Section(value, self._file, self._error, f"{path}[{number}]")

    def names(self) -> tuple[str, ...]:
        """Return the keys in their order."""
        return tuple(self._data)

    def texts(self) -> dict[str, str]:
        """Read a table whose values are strings."""
        return {key: self.string(key) for key in self._data}

    def lists(self) -> dict[str, tuple[str, ...]]:
        """Read a table whose values are lists of strings."""
        return {key: self.strings(key) for key in self._data}

    def check(self, key: str, what: str, names: Iterable[str], known: Collection[str]) -> None:
        """Raise the error "there is no `what`" for the first of `names`, the value of `key`, that is not in `known`."""
        for name in names:
            if name not in known:
                raise self.fail(key, f"there is no {what} {name!r}", did_you_mean(name, known))

    def record(self, kind: type[T], **values: Any) -> T:
        """Return an instance of the dataclass `kind`, after a call of `finish`.

        `values` gives some of its fields. Every other field is read, by its type, from the key with the
        field's name; without the key, the field has its default.
        """
        types = _hints(kind)
        for field in fields(kind):  # type: ignore[arg-type]
            optional = field.default is not MISSING or field.default_factory is not MISSING
            if field.name not in values and (field.name in self or not optional):
                wanted = types[field.name]
                wanted = get_args(wanted)[0] if get_origin(wanted) is UnionType else wanted  # X | None
                values[field.name] = READERS[wanted](self, field.name)
        self.finish()
        return kind(**values)

    def finish(self) -> None:
        """Raise the error "unknown key" for the first key that was never read."""
        for key in self._data:
            if key not in self._read:
                raise self.fail(key, "unknown key", did_you_mean(key, dict.fromkeys(self._read)))


_hints: Callable[[Any], Mapping[str, Any]] = cache(get_type_hints)
READERS: Mapping[Any, Callable[[Section, str], Any]] = {
    str: Section.string,
    int: Section.integer,
    bool: lambda section, key: section._get(key, bool, "true or false", ...),
    tuple[str, ...]: Section.strings,
    frozenset[str]: lambda section, key: frozenset(section.strings(key)),
    Mapping[str, str]: lambda section, key: section.section(key).texts(),
    Mapping[str, tuple[str, ...]]: lambda section, key: section.section(key).lists(),
}


def read_toml(path: Path, error: type[IsagenError], shown: str = "") -> Section:
    """Parse the TOML file at `path`; `shown` is how messages name it."""
    return Section(parse_toml(path, error, shown), shown or str(path), error)


def parse_toml(path: Path, error: type[IsagenError], shown: str = "") -> dict[str, Any]:
    """Parse the TOML file at `path` to plain data. Raises `error` if the file cannot be read or is not valid TOML."""
    import tomllib  # most steps of a build read no TOML

    name = shown or str(path)
    try:
        content = path.read_bytes()
    except OSError as problem:
        raise error(f"cannot be read: {problem.strerror}", where=name) from None
    try:
        return tomllib.loads(content.decode().replace("\r\n", "\n").replace("\r", "\n"))
    except UnicodeDecodeError as problem:
        raise error(f"is not UTF-8 text: {problem.reason}", where=name) from None
    except tomllib.TOMLDecodeError as problem:
        raise error(f"is not valid TOML: {problem}", where=name) from None
