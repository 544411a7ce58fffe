"""Reads build.ninja: the statements that have a file as an input, and the inputs of the statement that makes a file."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from .files import read_bytes

NINJA_FILE = "build.ninja"
# A path of a statement: `$` escapes a blank, a colon and a `$` in it.
PATH = re.compile(rb"(?:\$.|[^$ ])+")
# With prelink: true, Meson links the objects of a static library into one, whose name ends so.
PRELINKED = "-prelink.o"


@dataclass(frozen=True)
class Statement:
    """A build statement, with paths as ninja reads them. Implicit and order-only paths are among them."""

    rule: str
    outputs: tuple[str, ...]
    inputs: tuple[str, ...]

    @property
    def links(self) -> bool:
        """Whether Meson's name for the rule, such as cpp_LINKER_RSP, is that of a linker or an archiver."""
        return "LINKER" in self.rule

    @property
    def archives(self) -> bool:
        """Whether the output is a static library, or the prelinked object of one.

        The rule shows a static library; the output's name does not, because a program may be named x.a.
        """
        return "STATIC_LINKER" in self.rule or self.outputs[0].endswith(PRELINKED)


class NinjaFile:
    """The build.ninja of a build folder. Meson's other backends write none: `found` is then false."""

    def __init__(self, root: Path) -> None:
        self.root = root

    @property
    def found(self) -> bool:
        """Whether the file exists, with build statements."""
        return bool(self._statements)

    @cached_property
    def _statements(self) -> list[bytes]:
        """The lines of build statements. The other lines, which may be megabytes, are not kept."""
        try:
            content = read_bytes(self.root / NINJA_FILE)
        except OSError:
            return []
        return [line for line in content.splitlines() if line.startswith(b"build ")]

    def made_from(self, path: Path) -> list[Statement]:
        """Return the statements that have a file as an input."""
        name = self._name(path)
        return [statement for statement in self._with(name) if name in statement.inputs]

    def inputs_of(self, path: Path) -> list[str]:
        """Return the inputs of the statement that makes a file; none if there is no such statement."""
        name = self._name(path)
        found = (statement.inputs for statement in self._with(name) if name in statement.outputs)
        return [os.path.join(self.root, file) for file in next(found, ())]

    def _name(self, path: Path) -> str:
        """Return the path of a file as Meson gives it to ninja."""
        real = os.path.join(os.path.realpath(path.parent), path.name)  # the path may lead through a symbolic link
        return os.path.relpath(real, os.path.realpath(self.root)).replace(os.sep, "/")

    def _with(self, name: str) -> Iterator[Statement]:
        """Yield the statements whose text contains a path, perhaps only as a part of another path."""
        quoted = os.fsencode(re.sub(r"([$ :])", r"$\1", name))
        for line in self._statements:
            if quoted in line:
                outputs, _, rest = line.removeprefix(b"build ").partition(b": ")
                rule, _, inputs = rest.partition(b" ")
                yield Statement(rule.decode(), _paths(outputs), _paths(inputs))


def _paths(text: bytes) -> tuple[str, ...]:
    """Return the paths in a part of a build statement, without the bars before implicit and order-only paths."""
    words = (word for word in PATH.findall(text) if word.strip(b"|"))
    return tuple(os.fsdecode(re.sub(rb"\$(.)", rb"\1", word)) for word in words)
