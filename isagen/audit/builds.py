"""Audits the files of a build folder, with the plan and the objects from which each file was built."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from ..binary.formats import architecture_of, is_binary, open_binary
from ..binary.reader import Binary
from ..model.errors import AuditError, IsagenError, PlanError
from ..model.names import TOOL_FOLDER
from ..model.ninja import NinjaFile
from ..model.plan_file import find_plans, plans_in, read_plan
from ..model.record import MATRIX_OWNER
from ..processors.registry import is_decoded
from .binaries import audit_linked
from .build_objects import BuildObjects, linked_objects
from .files import Progress, files_in
from .findings import Result, failed_result
from .records import Baseline, Baselines, baseline_of, records_of_build

# Ends of the names of folders that contain no targets, such as folders of objects and isagen's copy of itself.
WITHOUT_TARGETS = (".p", TOOL_FOLDER, "meson-private", "meson-info", "meson-logs", "CMakeFiles", "__pycache__")
MESON_FOLDER = "meson-info"


def is_build(folder: Path) -> bool:
    """Return whether a folder is a build folder of Meson, or contains a plan."""
    return (folder / MESON_FOLDER).is_dir() or any(plans_in(folder))


def build_of(path: Path) -> Path | None:
    """Return the build folder of Meson that contains a file; None if there is none."""
    return next((parent for parent in path.resolve().parents if (parent / MESON_FOLDER).is_dir()), None)


def audit_build(folder: Path, baselines: Baselines, progress: Progress) -> Iterator[Result]:
    """Yield the results of the linked files in a build folder that have a record.

    If no decoder reads a file's code, a build matrix suffices without a record, and the result says that the file is
    not audited. Raises `AuditError` if there is no such file, and `ProjectError` if the folder contains no plan.
    """
    any_audited = False
    plans = find_plans(folder)
    paths = list(filter(is_binary, files_in(folder, WITHOUT_TARGETS)))
    for number, path in enumerate(paths, 1):
        progress(str(path), number, len(paths))
        undecoded = not_decoded(path, str(path))
        try:
            with open_binary(path) as binary:
                if binary.relocatable or not (binary.records() or (undecoded and binary.notes(MATRIX_OWNER))):
                    continue
                any_audited = True
                if unaudited := undecoded or without_code(binary):
                    yield unaudited
                else:
                    yield audit_with_plans(binary, path, plans, folder, baseline_of(binary, baselines))
        except (IsagenError, OSError) as problem:
            if not undecoded:
                yield failed_result(str(path), problem)
    if any_audited:
        return
    limits = dict.fromkeys(reason for plan in plans if (reason := read_plan(plan).limit.reason))
    if limits:
        raise AuditError("nothing here can be audited", where=str(folder), remedy="; ".join(limits))
    raise AuditError(
        "no linked file here has isagen's record",
        where=str(folder),
        remedy="build it first (ninja -C BUILD_DIR), with isa_kernels_dep among the target's dependencies",
    )


def not_decoded(path: Path, shown: str) -> Result | None:
    """Return the result of a file with code for an architecture that has no decoder; None for other files."""
    architecture = architecture_of(path)
    if architecture is None or is_decoded(architecture):
        return None
    return Result(shown, f"not audited: code for {architecture.shown} is not decoded", decoded=False)


def without_code(binary: Binary) -> Result | None:
    """Return the result of a file that contains debug information and no code; None for other files."""
    judged = "not audited: debug information only, its code is in another file"
    return Result(binary.shown, judged, decoded=False) if binary.debug_only else None


def audit_with_plans(binary: Binary, path: Path, plans: Iterable[Path], folder: Path, baseline: Baseline) -> Result:
    """Audit a linked file in a build folder by its records, and by the objects of the plan that has one of the records.

    If no plan has one, audits the file without objects if all plans can be read, and raises `PlanError` if not.
    """
    records = binary.records()
    texts = {record.to_json() for record in records}
    unread: PlanError | None = None
    for plan_path in plans:
        try:
            build = read_plan(plan_path)
        except PlanError as problem:
            unread = problem
            continue
        if texts.isdisjoint(record.to_json() for record in records_of_build(build)):
            continue
        root = build_of(plan_path) or folder
        ninja = NinjaFile(root)
        objects = BuildObjects(build.plan, plan_path.parent, linked_objects(ninja.inputs_of(path), ninja), root)
        return audit_linked(binary, records, objects, baseline)
    if unread is not None:
        raise unread
    note = "the build folder no longer has the file's plan, so objects and kernels have no names here: build it again"
    result = audit_linked(binary, records, None, baseline)
    return replace(result, notes=(*result.notes, note))
