"""Reads the matrix of a build folder, with compile times, and the matrices in the notes of a binary."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from ..audit.build_objects import BuildObjects
from ..binary.formats import is_binary
from ..binary.reader import Binary
from ..model.matrix import LevelCode, Matrix
from ..model.matrix_notes import unpack
from ..model.objects import CompiledObjects
from ..model.plan import BUILT
from ..model.plan_file import read_plan
from ..model.record import LEVEL_OWNER, MATRIX_OWNER
from .planned import planned_matrix, with_code

NINJA_LOG = ".ninja_log"


def built_matrix(plan_path: Path) -> Matrix:
    """Return the matrix of the build whose plan is at `plan_path`. Raises `PlanError` if the plan cannot be read."""
    build, folder = read_plan(plan_path), plan_path.parent
    made = BuildObjects(build.plan, folder, (), folder)
    codes = {level: registered.level_code(build.record.project) for level, registered in made.registrations.items()}
    matrix = with_code(planned_matrix(build), codes)
    seconds = _compile_times(_objects(made), folder)
    kernels = []
    for kernel in matrix.kernels:
        cells = kernel.levels.items()
        timed = {name: replace(cell, seconds=seconds.get((kernel.source, name))) for name, cell in cells}
        kernels.append(replace(kernel, levels=timed))
    levels = (
        replace(level, compiled=level.verdict == BUILT and (level.name in codes or not kernels))
        for level in matrix.levels
    )
    return replace(matrix, levels=tuple(levels), kernels=tuple(kernels))


def objects_of(plan_path: Path) -> Mapping[tuple[str, str], Path]:
    """Return the objects that were compiled, by kernel source and level, of the build whose plan is at `plan_path`."""
    objects = _objects(BuildObjects(read_plan(plan_path).plan, plan_path.parent, (), plan_path.parent))
    return {copy: path for copy, path in objects.items() if is_binary(path)}


def _objects(made: BuildObjects) -> Mapping[tuple[str, str], Path]:
    compiled, shims = CompiledObjects(made.plan), made.plan.shims()
    paths = (path for of_level in made.by_level.values() for path in of_level)
    copies = ((path, *compiled.kernel_of(path)) for path in paths if compiled.copy_of(path) not in shims)
    return {(source, level): path for path, level, source in copies if level}


def _compile_times(objects: Mapping[tuple[str, str], Path], folder: Path) -> Mapping[tuple[str, str], float]:
    """Return the seconds that compiling each of the `objects` took, as ninja's log above the `folder` lists them."""
    logs = (parent / NINJA_LOG for parent in (folder.absolute(), *folder.absolute().parents))
    log = next(filter(Path.is_file, logs), None)
    if log is None:
        return {}
    copies = {os.path.abspath(path): copy for copy, path in objects.items()}
    seconds = {}
    for line in log.read_text(encoding="utf-8", errors="surrogateescape").splitlines():
        match line.split("\t"):
            case [start, end, _, path, *_] if start.isdecimal() and end.isdecimal():
                copy = copies.get(os.path.abspath(log.parent / path))
                if copy is not None:
                    seconds[copy] = (int(end) - int(start)) / 1000
    return seconds


def matrices_in(binary: Binary) -> list[Matrix]:
    """Return the matrices of a binary: one for each project of isagen that is linked into it.

    Raises `AuditError` if a note is damaged, or was written by a later isagen.
    """
    codes: dict[tuple[str, str], LevelCode] = {}
    for note in binary.notes(LEVEL_OWNER):
        code = unpack(LevelCode, note, binary.shown)
        earlier = codes.get((code.project, code.level), code)  # a level may have several notes
        codes[code.project, code.level] = replace(code, kernels={**earlier.kernels, **code.kernels})
    matrices = []
    for note in binary.notes(MATRIX_OWNER):
        matrix = unpack(Matrix, note, binary.shown)
        levels = tuple(replace(level, compiled=level.verdict == BUILT) for level in matrix.levels)
        own = {level: code for (project, level), code in codes.items() if project == matrix.project}
        matrices.append(with_code(replace(matrix, levels=levels), own))
    return matrices
