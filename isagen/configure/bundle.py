"""Making the bundle, the one file that the build steps import their modules from; `build.start` says its form.

Bytecode comes from where Python keeps it, for it takes long to make: Python's own rules say whether it is that of the
source. Other Pythons take none of it.
"""

from __future__ import annotations

import marshal
import os
from collections.abc import Mapping
from importlib.util import MAGIC_NUMBER, cache_from_source, source_hash
from types import CodeType
from typing import BinaryIO
from zlib import compress, crc32

from ..build.start import CHECK, DIGEST, PARTS, SIZES, shown
from ..model.digests import blake2b

START = "isagen/build/start.py"
# Files are read in parts: new memory for a whole one takes longer than to read it.
BLOCK = 1 << 16
# How well sources are compressed: nearly as well as they can be, in half of the time.
PACKED = 1
# The form of lists, which all versions of Python read.
LISTS = 2


def make_bundle(paths: Mapping[str, str], contents: Mapping[str, bytes]) -> bytes:
    """Return a bundle of files, given by their names in it: modules, and data that these read."""
    codes = {name: _bytecode(name, paths[name], contents[name]) for name in sorted(contents) if name.endswith(".py")}
    places, size = _places(codes, 0)
    modules = {
        name.removesuffix(".py").removesuffix("/__init__").replace("/", "."): (name, *place)
        for name, place in places.items()
    }
    packed = {name: compress(content, PACKED) for name, content in sorted(contents.items())}
    sources, size = _places(packed, size)
    last = marshal.dumps(sources, LISTS)
    first = (codes[START], contents[START], marshal.dumps((modules, (size, len(last))), LISTS))
    sizes = (len(part).to_bytes(4, "little") for part in first)
    body = b"".join((contents_digest(contents), *sizes, *first, *codes.values(), *packed.values(), last))
    return MAGIC_NUMBER + crc32(body).to_bytes(DIGEST - CHECK, "little") + body


def _places(parts: Mapping[str, bytes], start: int) -> tuple[dict[str, tuple[int, int]], int]:
    """Return where parts start that follow each other, with their sizes; and where the last one ends."""
    found = {}
    for name, part in parts.items():
        found[name] = (start, len(part))
        start += len(part)
    return found, start


def contents_digest(contents: Mapping[str, bytes]) -> bytes:
    """Return the digest of files by name: that of a bundle of them, whichever Python its bytecode is for."""
    digest = blake2b(digest_size=32)
    for name, content in sorted(contents.items()):
        digest.update(f"{name} {len(content)}\n".encode() + content)
    return digest.digest()


def is_bundle(stream: BinaryIO, digest: bytes) -> bool:
    """Return whether an open file is a whole bundle of the files with a digest, with bytecode for this Python."""
    head = stream.read(PARTS)
    if head[:CHECK] != MAGIC_NUMBER or head[DIGEST:SIZES] != digest:
        return False
    check, block = crc32(head[DIGEST:]), bytearray(BLOCK)
    while size := stream.readinto(block):  # type: ignore[attr-defined]
        check = crc32(memoryview(block)[:size], check)
    return head[CHECK:DIGEST] == check.to_bytes(DIGEST - CHECK, "little")


def _bytecode(name: str, path: str, source: bytes) -> bytes:
    """Return the bytecode of the module whose source is installed at `path`; tracebacks name it as in the bundle."""
    code = _kept_code(path, source) or compile(source, shown(name), "exec", dont_inherit=True, optimize=0)
    # Twice, because the same code has other bytes where it was compiled than where it was read.
    return marshal.dumps(marshal.loads(marshal.dumps(_renamed(code, shown(name)))))


def _kept_code(path: str, source: bytes) -> CodeType | None:
    """Return the code of a source that Python kept; None where it kept none, or that of another source."""
    try:
        with open(cache_from_source(path, optimization=""), "rb") as stream:
            kept = stream.read()
        state = os.stat(path)
    except (OSError, NotImplementedError):
        return None
    hashed = int.from_bytes(kept[4:8], "little") & 1
    times = b"".join((number & 0xFFFFFFFF).to_bytes(4, "little") for number in (int(state.st_mtime), len(source)))
    if kept[:4] != MAGIC_NUMBER or kept[8:16] != (source_hash(source) if hashed else times):
        return None
    try:
        code = marshal.loads(kept[16:])
    except (EOFError, ValueError, TypeError):
        return None
    return code if isinstance(code, CodeType) else None


def _renamed(code: CodeType, file: str) -> CodeType:
    """Return code that tracebacks show lines of `file` for."""
    constants = tuple(_renamed(one, file) if isinstance(one, CodeType) else one for one in code.co_consts)
    return code.replace(co_filename=file, co_consts=constants)
