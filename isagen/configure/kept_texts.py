"""Generated texts kept across builds: laying out templates takes longer than all else of a warm configuring."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from ..binary.formats import FOLDER as BINARY_FORMATS
from ..model.codec import to_line
from ..probe.cache import Cache
from ..processors.registry import FOLDER as PROCESSORS
from ..rendering import template_folder

Texts = Mapping[str, str]
PACKAGE = Path(__file__).parent.parent
# The modules whose code decides on texts besides the values in them.
CODE = ("configure/compat.py", "configure/dispatch.py", "configure/front.py", "model/names.py", "rendering.py")


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
        *sorted(template_folder().glob("isa_*")),
        *sorted(PROCESSORS.glob("*/*.c")),
        *sorted(PROCESSORS.glob("*/*.c.j2")),
        *sorted(BINARY_FORMATS.glob("*/*.j2")),
    ]


@cache
def sources_digest() -> str:
    """Return a number that changes with the templates of generated C, and with the code that lays them out."""
    digest = hashlib.sha256()
    for path in [*template_files(), *(PACKAGE / name for name in CODE)]:
        content = path.read_bytes()
        digest.update(f"{path.name} {len(content)}\n".encode() + content)
    return digest.hexdigest()
