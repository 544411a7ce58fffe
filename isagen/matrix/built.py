"""Reads the matrix of a build folder, with compile times, and the matrices in the notes of a binary."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from ..audit.build_objects import BuildObjects
from ..binary.formats import is_binary
from ..binary.protocol import Binary
from ..model.matrix import LevelCode, Matrix, MatrixKernel
from ..model.matrix_notes import unpack
from ..model.objects import CompiledObjects
from ..model.plan import BUILT, Build
from ..model.plan_file import outputs_folder, read_plan
from ..model.record import LEVEL_OWNER, MATRIX_OWNER
from .planned import planned_matrix, with_code

NINJA_LOG = ".ninja_log"


def built_matrix(plan_path: Path) -> Matrix:
    """Return the matrix of the build whose plan is at `plan_path`. Raises `PlanError` if the plan cannot be read."""
    build = read_plan(plan_path)
    registrations = BuildObjects(build.plan, plan_path.parent, (), plan_path.parent).registrations
    codes = {level: registered.level_code(build.record.project) for level, registered in registrations.items()}
    matrix = with_code(planned_matrix(build), codes)
    times = _times(build, outputs_folder(plan_path.parent))

    def timed(kernel: MatrixKernel) -> MatrixKernel:
        cells = kernel.levels.items()
        return replace(
            kernel, levels={name: replace(cell, seconds=times.get((name, kernel.source))) for name, cell in cells}
        )

    return replace(
        matrix,
        levels=tuple(
            replace(level, compiled=level.verdict == BUILT and (level.name in codes or not matrix.kernels))
            for level in matrix.levels
        ),
        kernels=tuple(map(timed, matrix.kernels)),
    )


def objects_of(plan_path: Path) -> Mapping[tuple[str, str], Path]:
    """Return the objects that were compiled, by kernel source and level, of the build whose plan is at `plan_path`."""
    build, folder = read_plan(plan_path), plan_path.parent
    objects, shims = CompiledObjects(build.plan), build.plan.shims()
    by_level = BuildObjects(build.plan, folder, (), folder).by_level
    return {
        (source, level): path
        for paths in by_level.values()
        for path in paths
        for level, source in [objects.kernel_of(path)]
        if level and objects.copy_of(path) not in shims and is_binary(path)
    }


def _times(build: Build, folder: Path) -> Mapping[tuple[str, str], float]:
    """Return the seconds that compiling each copy took, by level and kernel source, as ninja's log lists them."""
    folder = folder.absolute()
    logs = (parent / NINJA_LOG for parent in (folder, *folder.parents))
    log = next(filter(Path.is_file, logs), None)
    if log is None:
        return {}
    objects, shims = CompiledObjects(build.plan), build.plan.shims()
    outputs = folder.relative_to(log.parent).as_posix()
    seconds = {}
    for line in log.read_text(encoding="utf-8", errors="surrogateescape").splitlines():
        match line.split("\t"):
            case [start, end, _, path, *_] if start.isdecimal() and end.isdecimal():
                level, source = objects.kernel_of(path)
                in_folder = (posixpath.dirname(posixpath.dirname(path)) or ".") == outputs
                if level and in_folder and objects.copy_of(path) not in shims:
                    seconds[level, source] = (int(end) - int(start)) / 1000
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
