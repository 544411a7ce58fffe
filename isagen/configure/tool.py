"""Copying the build steps into the build folder, where they outlive the isagen that configured it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

from ..model.files import write_if_changed
from ..model.names import TEXTS_FOLDER, TOOL_MAIN
from ..processors.processor import Processor

# The packages that the build steps need: `build`, and what it imports.
PACKAGES = ("audit", "binary", "build", "model", "processors")
SUFFIXES = (".py", ".toml", ".so", ".pyd")
# Python looks for modules in a folder that it runs, but takes longer to start than with a file.
MAIN = """import sys

sys.path.insert(0, __file__.removesuffix("__main__.py"))
from isagen.build.main import main

sys.exit(main())
"""


def write_tool(folder: Path, texts: Mapping[str, str], processor: Processor) -> str:
    """Write the build steps, the decoder of `processor` and the rendered `texts` into `folder`; return their digest.

    Modules that an earlier configuration left and this one does not need are removed; texts of other sets are kept.
    """
    wanted = {Path(TOOL_MAIN): MAIN.encode(), **_sources(processor)}
    wanted |= {Path(TEXTS_FOLDER, name): text.encode() for name, text in texts.items()}
    for path in [p for p in folder.rglob("*") if p.is_file()]:
        if path.suffix in SUFFIXES and path.relative_to(folder) not in wanted:
            path.unlink()
    digest = hashlib.sha256()
    for name, content in sorted(wanted.items()):
        write_if_changed(folder / name, content)
        digest.update(f"{name.as_posix()} {len(content)}\n".encode() + content)
    return digest.hexdigest()


def _sources(processor: Processor) -> Mapping[Path, bytes]:
    """Return the files of isagen's packages and of the decoder, by their paths in the tool's folder."""
    here = Path(__file__).parent.parent
    entries = [(here, Path("isagen"), here / "__init__.py")]
    entries += [(here, Path("isagen"), here / name) for name in PACKAGES]
    module = processor.decoder_module() if processor.decoder_module is not None else None
    if module is not None and module.__file__ is not None:
        place = Path(module.__file__).parent
        entries.append((place, Path(place.name), place))
    found = {}
    for root, target, entry in entries:
        for path in sorted(entry.rglob("*")) if entry.is_dir() else [entry]:
            if path.suffix in SUFFIXES:
                found[target / path.relative_to(root)] = path.read_bytes()
    return found
