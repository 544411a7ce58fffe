"""Sealing the levels: the objects of each become private to it, and what they register and hold is noted.

The objects of a whole module stay as they are, but for the notes: each level is a library of its own.

How an object is sealed is its format's business: `binary.elf.sealing`. One process seals all levels: starting Python
takes longer than sealing a level of a common project.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from ..binary.formats import load_object, note_in_object, seal_objects
from ..binary.protocol import ObjectFile
from ..model.files import write_if_changed
from ..model.matrix_notes import pack
from ..model.names import copy_of_object, registrations_name, sealed_name
from ..model.plan import Build
from ..model.plan_file import outputs_folder, read_plan, registrations_text
from ..model.record import LEVEL_OWNER
from ..model.registrations import Registrations
from .addresses import LevelCode
from .announced import announced_by_kernel
from .measure import level_code
from .modules import check_objects, with_notes
from .registrations import code_by_source, compiled_objects, objects_of_level, registered_by_kernel, sources_of


def seal(plan_path: Path, folder: Path, objects: Sequence[Path] | None) -> list[Path]:
    """Seal the `objects` of all levels of a plan into `folder`, and write there what each level registers.

    Where no objects are given, they are those that Meson compiled in the build folder of the plan.

    The first sealed object of a level holds the note of what its objects hold. Without sealing, only the registrations
    are written. Objects that isagen does not read stay as they are. Return the files that were read and written.
    """
    build = read_plan(plan_path)
    files: list[Path] = []
    for level in build.plan.built_levels():
        if objects is None:
            compiled = compiled_objects(build.plan, level, outputs_folder(plan_path.parent))
        else:
            compiled = objects_of_level(build.plan, level, objects)
        registrations = folder / registrations_name(level, build.plan.kernel_set)
        if build.limit.opaque:
            registered = announced_by_kernel(build.plan, level, compiled)
        else:
            loaded = [load_object(path) for path in compiled]
            registered = registered_by_kernel(build.plan, level, loaded)
            for file, content in zip(loaded, _sealed(build, registered, loaded), strict=False):
                files.append(folder / sealed_name(copy_of_object(file.path.name), level))
                write_if_changed(files[-1], content)
        write_if_changed(registrations, registrations_text(registered))
        files += [*compiled, registrations]
    return files


def _sealed(build: Build, registered: Registrations, files: Sequence[ObjectFile]) -> Iterator[bytes]:
    """Check the objects of one level, and yield their sealed contents; none where the build seals nothing."""
    level = registered.level
    by_source = code_by_source(build.plan, level, files)
    code = LevelCode(level, files)
    if build.plan.module:
        check_objects(build.plan, registered, by_source)
    else:
        for source, file in zip(sources_of(build.plan, level, files), files, strict=True):
            code.check(source, file)
    if not build.sealing.usable:
        return
    held = pack(level_code(build, registered, by_source))
    if build.plan.module:
        yield from with_notes(build, level, files, held)
        return
    first, *rest = seal_objects(files, level, build.sealing.mark, code.private_names())
    yield note_in_object(files[0], first, LEVEL_OWNER, held)
    yield from rest
