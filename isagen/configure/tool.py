"""Copying the build steps to the build folder, so that builds need no installed isagen."""

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

# The packages that the build steps need: `build`, and what it imports.
PACKAGES = ("audit", "binary", "build", "code", "model", "processors")
SUFFIXES = (".py", ".toml", ".so", ".pyd")
MAIN = """import os
import sys

sys.path.insert(0, os.path.dirname(__file__))
from isagen.build.main import main

sys.exit(main())
"""


def write_tool(folder: Path, texts: Mapping[str, str], processor: Processor) -> str:
    """Write the build steps, the decoder of `processor` and the rendered `texts` into `folder`; return their digest.

    Files of an earlier isagen that this one lacks are removed; texts of other sets stay.
    """
    sources = {name: (path, read_bytes(path)) for name, path in _sources(processor)}
    for name, (path, content) in sources.items():
        _copy(path, content, folder / name)
    for name, text in {TOOL_MAIN: MAIN, **{f"{TEXTS_FOLDER}/{name}": text for name, text in texts.items()}}.items():
        write_if_changed(folder / name, text)
    for file in [path for path in folder.rglob("*") if path.is_file() and path.suffix in SUFFIXES]:
        name = file.relative_to(folder).as_posix()
        if name != TOOL_MAIN and name not in sources:
            file.unlink()
    contents = {name: content_digest(content) for name, (_, content) in sources.items()}
    return content_digest(repr([sorted(contents.items()), sorted(texts.items())]).encode())


def _sources(processor: Processor) -> Iterator[tuple[str, str]]:
    """Yield the installed files that the steps need: isagen's modules and data, and the decoder's."""
    own = Path(__file__).parents[1]
    yield "isagen/__init__.py", os.fspath(own / "__init__.py")
    folders = [(own, own / package) for package in PACKAGES]
    if processor.decodable is not None and (decoder := processor.decodable.installed()) is not None:
        folders.append((decoder, decoder))
    for package, folder in folders:
        for path in folder.rglob("*"):
            if path.suffix in SUFFIXES:
                yield path.relative_to(package.parent).as_posix(), os.fspath(path)


def _copy(path: str, content: bytes, target: Path) -> None:
    """Copy a file with its time, by which Python validates bytecode, and its bytecode."""
    state = os.stat(path)
    if not write_if_changed(target, content) and os.stat(target).st_mtime_ns == state.st_mtime_ns:
        return
    os.utime(target, ns=(state.st_atime_ns, state.st_mtime_ns))
    if path.endswith(".py"):
        with suppress(FileNotFoundError):  # Python then compiles it in the build folder
            write_atomically(cache_from_source(target), read_bytes(cache_from_source(path)))


def own_python() -> str:
    """Return the path of this Python, which is part of the commands of all steps: in a virtual environment one path for
    all its names.
    """
    usual = os.path.join(os.path.dirname(sys.executable), "python3")
    same = sys.prefix != sys.base_prefix and os.path.exists(usual) and os.path.samefile(usual, sys.executable)
    return usual if same else sys.executable
