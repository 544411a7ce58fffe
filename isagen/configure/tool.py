"""Leaving the build steps in the build folder, where they outlive the isagen that configured it."""

from __future__ import annotations

import contextlib
import os
import shlex
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib.util import MAGIC_NUMBER
from io import BytesIO
from pathlib import Path

from .. import __version__
from ..build.start import BUNDLE, MAIN
from ..model.digests import digest_of
from ..model.files import AnyPath, read_bytes, write_atomically, write_if_changed
from ..model.kept import states_of
from ..model.names import TEXTS_FOLDER, TOOL_FOLDER, TOOL_MAIN
from ..probe.cache import NO_CACHE, Cache
from ..processors.processor import FEATURES_FILE, Processor
from .bundle import BLOCK, contents_digest, is_bundle, make_bundle

# The packages that the build steps need: `build`, and what it imports.
PACKAGES = ("audit", "binary", "build", "code", "model", "processors")
SUFFIXES = (".py", ".toml", ".so", ".pyd")
# The folder of isagen's modules in the tools of earlier versions.
FORMER = "isagen"


@dataclass(frozen=True)
class Sources:
    """The installed files that the tool is made of, in its bundle and beside it: paths by names, and digests.

    `bundle` is the digest of those `bundled`, and `whole` that of all.
    """

    bundled: Mapping[str, str]
    beside: Mapping[str, str]
    bundle: bytes
    whole: str


USED_NAME = "used.sh"
# What ninja quotes in a path is no such expression, and left to the step. The argument is a path from the build folder.
USED_SCRIPT = """#!/bin/sh
grep -q -e "_COMPILER[A-Z_]* $1\\( \\|\\$\\)" "$MESON_BUILD_ROOT/build.ninja" 2>/dev/null && exit 0
exec {command} used "$MESON_BUILD_ROOT/$1"
"""


def write_tool(folder: Path, texts: Mapping[str, str], processor: Processor, kept: Cache = NO_CACHE) -> str:
    """Write the build steps, the decoder of `processor` and the rendered `texts` into `folder`; return their digest.

    The digest says nothing of bytecode. Modules that an earlier configuration left and this one does not need are
    removed; texts of other sets are kept.
    """
    sources = _sources(processor, kept)
    _write_bundle(folder / BUNDLE, sources, kept.file(f"{_key(processor)}.bundle"))
    for name, path in sources.beside.items():
        if not _are_same(path, folder / name):
            write_atomically(folder / name, read_bytes(path))
    for name, text in {TOOL_MAIN: MAIN, **{f"{TEXTS_FOLDER}/{name}": text for name, text in texts.items()}}.items():
        write_if_changed(folder / name, text)
    for name in _files(folder):
        if name != TOOL_MAIN and name not in sources.beside:
            (folder / name).unlink()
    if (folder / FORMER).is_dir():
        import shutil

        shutil.rmtree(folder / FORMER)
    return digest_of(repr([sources.whole, sorted(texts.items())]).encode())


def tool_files(folder: Path, texts: Iterable[str]) -> Iterator[str]:
    """Yield what `write_tool` leaves in `folder` for `texts` of these names, besides files that end in `SUFFIXES`."""
    for name in (BUNDLE, *(f"{TEXTS_FOLDER}/{name}" for name in texts)):
        yield os.path.join(folder, name)


def tool_copies(folder: Path, processor: Processor, kept: Cache) -> Iterator[tuple[str, str]]:
    """Yield the large files that `write_tool` leaves in `folder`, with those that they may be copies of."""
    bundle = kept.file(f"{_key(processor)}.bundle")
    if bundle is not None:
        yield os.path.join(folder, BUNDLE), os.fspath(bundle)
    if processor.decodable is not None and (place := processor.decodable.folder) is not None:
        for path in place.iterdir():
            if path.name.endswith(SUFFIXES):
                yield os.path.join(folder, place.name, path.name), os.fspath(path)


def _sources(processor: Processor, kept: Cache) -> Sources:
    """Return the files of isagen's packages and of the decoder; what is `kept` saves reading them."""
    bundled = dict(_own())
    beside: dict[str, str] = {}
    if processor.decodable is not None and (place := processor.decodable.folder) is not None:
        for path in sorted(place.iterdir()):
            if path.name.endswith(SUFFIXES):
                beside[f"{place.name}/{path.name}"] = os.fspath(path)
    paths = bundled | beside
    key, states = _key(processor), states_of(sorted(paths.values()))
    found = kept.get(key)
    digests = found.get("digests") if isinstance(found, dict) else None
    if digests is None or found.get("check") != Cache.key([states, paths, digests]):
        contents = {name: read_bytes(path) for name, path in paths.items()}
        parts = {name: contents[name] for name in bundled}
        digests = [contents_digest(parts).hex(), contents_digest(contents).hex()]
        kept.put(key, {"digests": digests, "check": Cache.key([states, paths, digests])})
    return Sources(bundled, beside, bytes.fromhex(digests[0]), digests[1])


def _own() -> Iterator[tuple[str, str]]:
    """Yield the files of isagen that the build steps need: their names in the tool and their paths."""
    here = os.path.dirname(os.path.dirname(__file__))
    yield "isagen/__init__.py", os.path.join(here, "__init__.py")
    for package in PACKAGES:
        for folder, _, names in os.walk(os.path.join(here, package)):
            inside = folder[len(here) :].replace(os.sep, "/")
            for name in names:
                if name.endswith(".py") or name in (FEATURES_FILE, "known_functions.toml"):
                    yield f"isagen{inside}/{name}", os.path.join(folder, name)


def _key(processor: Processor) -> str:
    """Return the name of what is kept: for each isagen, Python and processor, the last."""
    return f"{__version__}.{sys.implementation.cache_tag}.{MAGIC_NUMBER.hex()}.{processor.name}"


def _write_bundle(path: Path, sources: Sources, kept: Path | None) -> None:
    """Leave the bundle of `sources` at `path`: the one there, the one that is `kept`, or a new one."""
    with contextlib.suppress(OSError), path.open("rb", 0) as stream:
        if is_bundle(stream, sources.bundle):
            return
    content = b""
    with contextlib.suppress(OSError):
        content = read_bytes(kept) if kept is not None else b""
    if not is_bundle(BytesIO(content), sources.bundle):
        content = make_bundle(sources.bundled, {name: read_bytes(file) for name, file in sources.bundled.items()})
        if kept is not None:
            with contextlib.suppress(OSError):
                write_atomically(kept, content)
    write_atomically(path, content)


def _are_same(one: AnyPath, other: AnyPath) -> bool:
    """Return whether two files have the same content; the first is there."""
    first, second = bytearray(BLOCK), bytearray(BLOCK)
    with open(one, "rb", 0) as stream, contextlib.suppress(OSError), open(other, "rb", 0) as against:
        while size := stream.readinto(first):
            if against.readinto(second) != size or first != second:
                return False
        return not against.read(1)
    return False


def _files(folder: Path) -> Iterator[str]:
    """Yield the paths, from the folder on, of the files in it that the tool consists of."""
    start = len(os.fspath(folder)) + 1
    for place, _, names in os.walk(folder):
        parts = place[start:].split(os.sep) if place[start:] else []
        yield from ("/".join((*parts, name)) for name in names if name.endswith(SUFFIXES))


def own_python() -> str:
    """Return the path of this Python: in a virtual environment the same one, by whichever of its names it was called.

    It is part of the commands of all steps.
    """
    usual = os.path.join(os.path.dirname(sys.executable), "python3")
    same = sys.prefix != sys.base_prefix and os.path.exists(usual) and os.path.samefile(usual, sys.executable)
    return usual if same else sys.executable


def write_used_script(output: Path) -> list[str]:
    """Write the script that Meson runs after configuring, and return its path; nothing where no shell is sure to be.

    It starts the step `used` where grep does not find what that looks for. Nearly all projects have a target that takes
    isa_kernels_dep, and to start a Python for that takes four times as long.
    """
    if os.name != "posix":
        return []
    path = output / TOOL_FOLDER / USED_NAME
    command = shlex.join([own_python(), "-I", "-S", str(output / TOOL_FOLDER / TOOL_MAIN)])
    write_if_changed(path, USED_SCRIPT.format(command=command), mode=0o777)
    return [str(path)]
