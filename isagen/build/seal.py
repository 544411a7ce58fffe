"""Sealing a level: its objects become private to it, and what they register is noted.

How an object is sealed is its format's business: `binary.elf.sealing`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ..binary.formats import load_object, seal_objects
from ..model.files import write_if_changed
from ..model.names import copy_of_object, sealed_name
from ..model.plan_file import read_plan, registrations_text
from .addresses import LevelCode
from .registrations import registered_by_kernel, sources_of


def seal(plan_path: Path, level: str, objects: Sequence[Path], registrations: Path, folder: Path | None) -> None:
    """Seal the `objects` of `level` into `folder`, and write what they register to the file `registrations`.

    Without `folder`, only the registrations are written.
    """
    build = read_plan(plan_path)
    files = [load_object(path) for path in objects]
    noted = registrations_text(registered_by_kernel(build.plan, level, files))
    code = LevelCode(level, files)
    for source, file in zip(sources_of(build.plan, level, files), files, strict=True):
        code.check(source, file)
    if folder is not None:
        contents = seal_objects(files, level, build.sealing.mark, code.private_names())
        for path, content in zip(objects, contents, strict=True):
            write_if_changed(folder / sealed_name(copy_of_object(path.name), level), content)
    write_if_changed(registrations, noted)
