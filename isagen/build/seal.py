"""Sealing a level: its objects become private to it, and what they register and hold is noted.

The objects of a whole module stay as they are, but for the notes: each level is a library of its own.

How an object is sealed is its format's business: `binary.elf.sealing`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ..binary.formats import load_object, note_in_object, seal_objects
from ..model.files import write_if_changed
from ..model.matrix_notes import pack
from ..model.names import copy_of_object, sealed_name
from ..model.plan_file import outputs_folder, read_plan, registrations_text
from ..model.record import LEVEL_OWNER
from .addresses import LevelCode
from .announced import announced_by_kernel
from .measure import level_code
from .modules import check_objects, with_notes
from .registrations import code_by_source, compiled_objects, registered_by_kernel, sources_of


def seal(
    plan_path: Path, level: str, objects: Sequence[Path] | None, registrations: Path, folder: Path | None
) -> list[Path]:
    """Seal the `objects` of `level` into `folder`, and write what they register to the file `registrations`.

    Where no objects are given, they are those that Meson compiled in the build folder of the plan.

    The first sealed object holds the note of what the level's objects hold. Without `folder`, only the registrations
    are written. Objects that isagen does not read stay as they are. Return the files that were read and written.
    """
    build = read_plan(plan_path)
    if objects is None:
        objects = compiled_objects(build.plan, level, outputs_folder(plan_path.parent))
    if build.limit.opaque:
        announced = announced_by_kernel(build.plan, level, objects)
        write_if_changed(registrations, registrations_text(announced))
        return [*objects, registrations]
    files = [load_object(path) for path in objects]
    registered = registered_by_kernel(build.plan, level, files)
    noted = registrations_text(registered)
    by_source = code_by_source(build.plan, level, files)
    if build.plan.module:
        check_objects(build.plan, registered, by_source)
    else:
        code = LevelCode(level, files)
        for source, file in zip(sources_of(build.plan, level, files), files, strict=True):
            code.check(source, file)
    sealed = [] if folder is None else [folder / sealed_name(copy_of_object(path.name), level) for path in objects]
    if sealed:
        held = pack(level_code(build, registered, by_source))
        if build.plan.module:
            contents = list(with_notes(build, level, files, held))
        else:
            contents = list(seal_objects(files, level, build.sealing.mark, code.private_names()))
            contents[0] = note_in_object(files[0], contents[0], LEVEL_OWNER, held)
        for path, content in zip(sealed, contents, strict=True):
            write_if_changed(path, content)
    write_if_changed(registrations, noted)
    return [*objects, *sealed, registrations]
