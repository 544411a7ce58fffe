"""Generated texts kept across builds: laying out templates takes longer than all else of a warm configuring."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from ..binary.formats import FOLDER as BINARY_FORMATS
from ..model.codec import to_line
from ..model.digests import blake2b
from ..probe.cache import Cache
from ..processors.registry import FOLDER as PROCESSORS
from ..rendering import template_folder

Texts = Mapping[str, str]
PACKAGE = Path(__file__).parent.parent
# The modules whose code decides on texts besides the values in them.
CODE = ("configure/compat.py", "configure/dispatch.py", "model/names.py", "rendering.py")


def kept_texts(kept: Cache, values: Any, make: Callable[[], Texts]) -> Texts:
    """Return the texts by name that `make` lays out from `values`, or those that an earlier build kept.

    `values` are dataclasses and plain data, and hold all that the texts are made of, but for templates and our code.
    """
    key = Cache.key([sources_digest(), to_line(values)])
    found = kept.get(key)
    texts = found.get("texts") if isinstance(found, dict) else None
    if isinstance(texts, dict) and found["digest"] == Cache.key(texts):  # it is not damaged
        return texts
    texts = make()
    kept.put(key, {"texts": dict(texts), "digest": Cache.key(dict(texts))})
    return texts


def template_files() -> list[Path]:
    """Return the templates of generated C, and the files that they include."""
    return [
        *_found(template_folder(), "isa_", ""),
        *_found(PROCESSORS, "", ".c"),
        *_found(PROCESSORS, "", ".c.j2"),
        *_found(Path(BINARY_FORMATS), "", ".j2"),
    ]


def _found(folder: Path, start: str, end: str) -> list[Path]:
    """Return the files of a folder of templates, or of the folders in one of packages, by how their names go."""
    folders = [folder] if start else [one.path for one in os.scandir(folder) if one.is_dir()]
    names = [os.path.join(place, name) for place in folders for name in os.listdir(place)]
    return [Path(name) for name in sorted(names) if os.path.basename(name).startswith(start) and name.endswith(end)]


@cache
def sources_digest() -> str:
    """Return a number that changes with the templates of generated C, and with the code that lays them out."""
    digest = blake2b(digest_size=16)
    for path in [*template_files(), *(PACKAGE / name for name in CODE)]:
        content = path.read_bytes()
        digest.update(f"{path.name} {len(content)}\n".encode() + content)
    return digest.hexdigest()
