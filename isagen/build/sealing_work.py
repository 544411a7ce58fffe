"""What sealing does for a plan, as plain data, which the record of the step keeps: an edit changes no plan."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..model.digests import blake2b
from ..model.files import read_bytes
from ..model.names import registrations_name, sealed_name, stubs_name
from .texts import text_for

# An object that was compiled: its path, its kernel source, where the sealed one goes, and whether it is a shim's.
Item = tuple[str, str, str, bool]


@dataclass(frozen=True)
class LevelWork:
    """One level: those below it, where its registrations go, and its objects.

    `record` is that of the level's private module, if it is one.
    """

    name: str
    below: tuple[str, ...]
    registrations: str
    items: tuple[Item, ...]
    record: str


@dataclass(frozen=True)
class Work:
    """All levels of a plan that are built, lowest first, and what of the plan sealing depends on.

    `key` changes with the plan and with isagen, `features` names the processor's features, and `record` is the build's
    record as text. `audit` says what a fault in initialisers does, as `model.plan.LinkAudit` has it. `every_level` are
    the names of all levels. The table of stubs goes to the source `stubs`, which `stubs_text` lays out.
    """

    key: str
    planned: tuple[str, ...]
    project: str
    features: str
    module: str
    opaque: bool
    sealed: bool
    fold: bool
    audit: str
    record: str
    mark: str
    every_level: tuple[str, ...]
    stubs_text: str
    stubs: str
    levels: tuple[LevelWork, ...]


def plain(work: Work) -> dict[str, Any]:
    """Return the work as a record keeps it."""
    return {**vars(work), "levels": [vars(level) for level in work.levels]}


def work_from(data: Mapping[str, Any]) -> Work:
    """Return the work that a record kept."""
    return Work(**{**data, "levels": tuple(LevelWork(**level) for level in data["levels"])})


def work_of(plan_path: Path, folder: str, planned: Iterable[str], objects: Sequence[str] | None) -> Work:
    """Read the work from a plan, whose files are `planned`; `objects` are those of all levels.

    Where none are given, they are those that Meson compiled in the build folder of the plan.
    """
    from ..model.objects import CompiledObjects
    from ..model.plan_file import outputs_folder, read_plan
    from .registrations import compiled_objects, objects_of_level, source_of

    build = read_plan(plan_path)
    plan = build.plan
    shims, known = plan.shims(), CompiledObjects(plan)
    rows = {level.name: level for level in plan.levels}
    levels = []
    for level in plan.built_levels():
        if objects is None:
            compiled = compiled_objects(plan, level, os.fspath(outputs_folder(plan_path.parent)), known)
        else:
            compiled = objects_of_level(level, objects, known)
        items = []
        for path in compiled:
            copy = known.copy_of(path)
            sealed = os.path.join(folder, sealed_name(copy, level))
            items.append((path, source_of(path, level, known), sealed, copy in shims))
        registrations = os.path.join(folder, registrations_name(level, plan.kernel_set))
        record = build.record.of_module(level).to_json() if plan.module else ""
        levels.append(LevelWork(level, rows[level].below, registrations, tuple(items), record))
    stubs = os.path.join(folder, stubs_name(plan.kernel_set, plan.dispatch_language))
    return Work(
        key=_key(planned),
        planned=tuple(planned),
        project=build.record.project,
        features=build.record.features,
        module=plan.module,
        opaque=build.limit.opaque,
        sealed=build.sealing.usable,
        fold=build.sealing.fold,
        audit=build.link_audit.mode,
        record=build.record.to_json(),
        mark=build.sealing.mark,
        every_level=tuple(level.name for level in plan.levels),
        stubs_text=text_for(os.fspath(plan_path), stubs),
        stubs=stubs,
        levels=tuple(levels),
    )


def _key(paths: Iterable[str]) -> str:
    found = blake2b(digest_size=16)
    for path in paths:
        content = read_bytes(path)
        found.update(f"{os.path.basename(path)} {len(content)}\n".encode(errors="surrogateescape") + content)
    return found.hexdigest()
