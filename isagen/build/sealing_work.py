"""The work of sealing a plan: compiled objects by level, and the paths of sealed ones."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

from ..model.files import read_bytes
from ..model.names import registrations_name, sealed_name
from ..model.objects import CompiledObjects
from ..model.plan import Build
from ..model.plan_file import outputs_folder, read_plan
from .registrations import compiled_objects, source_of


class Item(NamedTuple):
    """A compiled object: its path, its kernel source, the path of the sealed one, and whether it is a shim's."""

    path: str
    source: str
    sealed: str
    shim: bool


@dataclass(frozen=True)
class LevelWork:
    """One level: those below it, the path of its registrations, and its objects."""

    name: str
    below: tuple[str, ...]
    registrations: str
    items: tuple[Item, ...]


@dataclass(frozen=True)
class Work:
    """A build, and its levels that are built, lowest first; `key` changes with the plan and with isagen."""

    key: str
    build: Build
    levels: tuple[LevelWork, ...]


def work_of(plan_path: Path, folder: str, planned: Iterable[str]) -> Work:
    """Read the work from a plan, whose files are `planned`, and find the objects that Meson compiled for it."""
    build = read_plan(plan_path)
    plan = build.plan
    shims, known = plan.shims(), CompiledObjects(plan)
    rows = {level.name: level for level in plan.levels}
    levels = []
    for level in plan.built_levels():
        items = []
        for path in compiled_objects(plan, level, os.fspath(outputs_folder(plan_path.parent)), known):
            copy = known.copy_of(path)
            sealed = os.path.join(folder, sealed_name(copy, level))
            items.append(Item(path, source_of(path, level, known), sealed, copy in shims))
        registrations = os.path.join(folder, registrations_name(level, plan.kernel_set))
        levels.append(LevelWork(level, rows[level].below, registrations, tuple(items)))
    return Work(_key(planned), build, tuple(levels))


def _key(paths: Iterable[str]) -> str:
    found = blake2b(digest_size=16)
    for path in paths:
        content = read_bytes(path)
        found.update(f"{os.path.basename(path)} {len(content)}\n".encode(errors="surrogateescape") + content)
    return found.hexdigest()
