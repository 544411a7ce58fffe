"""Lists the compiled objects of each level, with the paths of their sources and of their sealed objects."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from ..model.errors import BuildError
from ..model.names import sealed_name
from ..model.objects import CompiledObjects, unit_folder
from ..model.plan import Build
from ..model.plan_file import outputs_folder


class ObjectPaths(NamedTuple):
    """The paths of a compiled object, its kernel source and its sealed object, and whether the object is a shim's."""

    compiled: str
    source: str
    sealed: str
    is_shim: bool


def objects_of_levels(build: Build, plan_path: Path, folder: str) -> dict[str, list[ObjectPaths]]:
    """Return the objects of each level that has copies, lowest level first. Sealed objects are in `folder`.

    The objects are not arguments of the step: a command line cannot contain thousands. Raises `BuildError` if an object
    is missing.
    """
    plan, compiled_folder = build.plan, os.fspath(outputs_folder(plan_path.parent))
    known, shims = CompiledObjects(plan), plan.shims()
    levels: dict[str, list[ObjectPaths]] = {level: [] for level in plan.built_levels()}
    for unit in plan.units:
        place = os.path.join(compiled_folder, unit_folder(unit.name))
        names = os.listdir(place) if os.path.isdir(place) else []
        paths = (os.path.join(place, name) for name in names if name.endswith((".o", ".obj")))
        objects = {known.copy_of(path): path for path in paths}
        for copy in unit.copies:
            if copy not in objects:
                raise BuildError(f"has no object in {place}", where=copy, remedy="build again: ninja -C BUILD_DIR")
            path, sealed = objects[copy], os.path.join(folder, sealed_name(copy, unit.level))
            levels[unit.level].append(ObjectPaths(path, known.kernel_of(path)[1], sealed, copy in shims))
    return levels
