"""Copying the build steps into the build folder, so that builds need no installed isagen."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from importlib.util import cache_from_source
from pathlib import Path

from ..model.files import content_digest, read_bytes, write_atomically, write_if_changed
from ..model.names import TEXTS_FOLDER, TOOL_MAIN
from ..processors.processor import Processor

# The package `build` and the packages that it imports.
PACKAGES = ("audit", "binary", "build", "code", "model", "processors")
SUFFIXES = (".py", ".toml", ".so", ".pyd")
MAIN = """import gc
import os
import sys

gc.disable()  # a step is too short for garbage collection to pay
sys.path.insert(0, os.path.dirname(__file__))
from isagen.build.main import main

sys.exit(main())
"""


def write_tool(folder: Path, texts: Mapping[str, str], processor: Processor) -> str:
    """Write the build steps, the decoder of `processor` and the sources `texts` into `folder`; return a digest of all.

    Code of another version of isagen is removed. Texts of other sets stay.
    """
    sources = {name: (path, read_bytes(path)) for name, path in _sources(processor)}
    for name, (path, content) in sources.items():
        _copy(path, content, folder / name)
    write_if_changed(folder / TOOL_MAIN, MAIN)
    for name, text in texts.items():
        write_if_changed(folder / TEXTS_FOLDER / name, text)
    for file in [path for path in folder.rglob("*") if path.is_file() and path.suffix in SUFFIXES]:
        if file.relative_to(folder).as_posix() not in (TOOL_MAIN, *sources):
            file.unlink()
    contents = {name: content_digest(content) for name, (_, content) in sources.items()}
    return content_digest(repr([sorted(contents.items()), sorted(texts.items())]).encode())


def _sources(processor: Processor) -> Iterator[tuple[str, str]]:
    """Yield (path in the tool's folder, installed path) of each file of isagen and of the decoder that steps need."""
    own = Path(__file__).parents[1]
    yield "isagen/__init__.py", os.fspath(own / "__init__.py")
    folders = [(own, own / package) for package in PACKAGES]
    if processor.decodable is not None and (decoder := processor.decodable.folder()) is not None:
        folders.append((decoder, decoder))
    for package, folder in folders:
        for path in folder.rglob("*"):
            if path.suffix in SUFFIXES:
                yield path.relative_to(package.parent).as_posix(), os.fspath(path)


def _copy(path: str, content: bytes, target: Path) -> None:
    """Copy a file with its bytecode, and with its mtime: Python compares the mtime with that in the bytecode."""
    state = os.stat(path)
    if not write_if_changed(target, content) and os.stat(target).st_mtime_ns == state.st_mtime_ns:
        return
    os.utime(target, ns=(state.st_atime_ns, state.st_mtime_ns))
    if path.endswith(".py"):
        with suppress(FileNotFoundError):  # without bytecode, Python compiles the copy
            write_atomically(cache_from_source(target), read_bytes(cache_from_source(path)))


def own_python() -> str:
    """Return the path of this Python, for the commands of the steps.

    A virtual environment has several names for its Python. The result is `python3` for all of them: a changed command
    would run every step again.
    """
    usual = os.path.join(os.path.dirname(sys.executable), "python3")
    same = sys.prefix != sys.base_prefix and os.path.exists(usual) and os.path.samefile(usual, sys.executable)
    return usual if same else sys.executable
