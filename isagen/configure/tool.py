"""Copying the build steps into the build folder, where they outlive the isagen that configured it."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from ..model.files import write_if_changed
from ..model.names import TEXTS_FOLDER, TOOL_MAIN
from ..processors.processor import Processor

# The packages that the build steps need: `build`, and what it imports.
PACKAGES = ("audit", "binary", "build", "model", "processors")
SUFFIXES = (".py", ".toml", ".so", ".pyd")
# Python looks for modules in a folder that it runs, but takes longer to start than with a file.
MAIN = """import gc
import os
import sys

gc.disable()  # a step leaves few cycles, and looking for them takes a tenth of its time
sys.path.insert(0, __file__.removesuffix("__main__.py"))
from isagen.build.main import main

status = main()
try:
    for stream in filter(None, (sys.stdout, sys.stderr)):
        stream.flush()
except (OSError, ValueError):
    sys.exit(status)  # which says what is wrong
os._exit(status)  # to take all modules down takes a tenth of the time of a step, too
"""


def write_tool(folder: Path, texts: Mapping[str, str], processor: Processor) -> str:
    """Write the build steps, the decoder of `processor` and the rendered `texts` into `folder`; return their digest.

    Modules that an earlier configuration left and this one does not need are removed; texts of other sets are kept.
    """
    wanted = {TOOL_MAIN: MAIN.encode(), **_sources(processor)}
    wanted |= {f"{TEXTS_FOLDER}/{name}": text.encode() for name, text in texts.items()}
    for name in _files(folder):
        if name not in wanted:
            (folder / name).unlink()
    digest = hashlib.sha256()
    for name, content in sorted(wanted.items()):
        write_if_changed(folder / name, content)
        digest.update(f"{name} {len(content)}\n".encode() + content)
    return digest.hexdigest()


def _sources(processor: Processor) -> Mapping[str, bytes]:
    """Return the files of isagen's packages and of the decoder, by their paths in the tool's folder."""
    here = Path(__file__).parent.parent
    found = {"isagen/__init__.py": (here / "__init__.py").read_bytes()}
    for package in PACKAGES:
        found |= {f"isagen/{package}/{name}": (here / package / name).read_bytes() for name in _files(here / package)}
    place = processor.decoder_folder() if processor.decoder_folder is not None else None
    if place is not None and processor.decoder_parts is not None:
        found |= {f"{place.name}/{name}": (place / name).read_bytes() for name in processor.decoder_parts()}
    return found


def _files(folder: Path) -> Iterator[str]:
    """Yield the paths, from the folder on, of the files in it that the tool consists of."""
    start = len(os.fspath(folder)) + 1
    for place, _, names in os.walk(folder):
        parts = place[start:].split(os.sep) if place[start:] else []
        yield from ("/".join((*parts, name)) for name in names if name.endswith(SUFFIXES))
