"""The work of sealing a plan: the compiled objects of each level, and the paths of the sealed objects."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from ..model.errors import BuildError
from ..model.files import content_digest, read_bytes
from ..model.names import registrations_name, sealed_name
from ..model.objects import CompiledObjects, unit_folder
from ..model.plan import Build, Unit
from ..model.plan_file import outputs_folder, read_plan


class ObjectPaths(NamedTuple):
    """The paths of a compiled object, its kernel source and its sealed object, and whether the object is a shim's."""

    compiled: str
    source: str
    sealed: str
    is_shim: bool


@dataclass(frozen=True)
class LevelWork:
    """One level: the levels `below` it, lowest first, the path of its registrations, and its objects."""

    name: str
    below: tuple[str, ...]
    registrations: str
    objects: tuple[ObjectPaths, ...]


@dataclass(frozen=True)
class Work:
    """A build, and its levels with copies, lowest first; `key` changes with the plan and with isagen."""

    key: str
    build: Build
    levels: tuple[LevelWork, ...]


def work_of(plan_path: Path, folder: str, plan_files: Iterable[str]) -> Work:
    """Return the work of the plan at `plan_path`, with a key from `plan_files`. Sealed objects are in `folder`."""
    build = read_plan(plan_path)
    plan = build.plan
    known, compiled_folder = CompiledObjects(plan), os.fspath(outputs_folder(plan_path.parent))
    sources = {cell.copy: kernel.source for kernel, cell in plan.copies()}
    shims, below = plan.shims(), {level.name: level.requires for level in plan.levels}
    levels = []
    for level in plan.built_levels():
        objects = tuple(
            ObjectPaths(path, sources[copy], os.path.join(folder, sealed_name(copy, level)), copy in shims)
            for unit in plan.units
            if unit.level == level
            for copy, path in _objects_of(unit, compiled_folder, known)
        )
        registrations = os.path.join(folder, registrations_name(level, plan.kernel_set))
        levels.append(LevelWork(level, below[level], registrations, objects))
    return Work(content_digest(b"\0".join(map(read_bytes, plan_files))), build, tuple(levels))


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
