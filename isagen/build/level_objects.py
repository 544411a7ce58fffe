"""Lists the compiled objects of each level, with the paths of their sources and of their sealed objects."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from ..model.errors import BuildError
from ..model.names import sealed_name
from ..model.objects import CompiledObjects, unit_folder
from ..model.plan import Build, Unit
from ..model.plan_file import outputs_folder


class ObjectPaths(NamedTuple):
    """The paths of a compiled object, its kernel source and its sealed object, and whether the object is a shim's."""

    compiled: str
    source: str
    sealed: str
    is_shim: bool


def objects_of_levels(build: Build, plan_path: Path, folder: str) -> dict[str, tuple[ObjectPaths, ...]]:
    """Return the objects of each level with copies, lowest level first. Sealed objects are in `folder`."""
    plan, compiled_folder = build.plan, os.fspath(outputs_folder(plan_path.parent))
    known, shims = CompiledObjects(plan), plan.shims()
    sources = {cell.copy: kernel.source for kernel, cell in plan.copies()}
    return {
        level: tuple(
            ObjectPaths(path, sources[copy], os.path.join(folder, sealed_name(copy, level)), copy in shims)
            for unit in plan.units
            if unit.level == level
            for copy, path in _objects_of(unit, compiled_folder, known)
        )
        for level in plan.built_levels()
    }


def _objects_of(unit: Unit, folder: str, known: CompiledObjects) -> Iterator[tuple[str, str]]:
    """Yield the copies of a unit, each with the path of its object in the `folder` of outputs.

    The objects are not arguments of the step: a command line cannot contain thousands. Raises `BuildError` if an object
    is missing.
    """
    place = os.path.join(folder, unit_folder(unit.name))
    names = os.listdir(place) if os.path.isdir(place) else []
    paths = (os.path.join(place, name) for name in names if name.endswith((".o", ".obj")))
    objects = {known.copy_of(path): path for path in paths}
    for copy in unit.copies:
        if copy not in objects:
            raise BuildError(f"has no object in {place}", where=copy, remedy="build again: ninja -C BUILD_DIR")
        yield copy, objects[copy]
