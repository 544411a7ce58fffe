"""Makes the matrix of a build from its plan file and registrations, and reads the matrices in a binary's notes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from ..audit.build_objects import BuildObjects
from ..binary.formats import is_binary
from ..binary.reader import Binary
from ..model.matrix import Matrix
from ..model.matrix_notes import unpack
from ..model.objects import CompiledObjects
from ..model.plan import BUILT
from ..model.plan_file import read_plan
from ..model.record import LEVEL_OWNER, MATRIX_OWNER
from ..model.registrations import LevelCode
from .planned import planned_matrix, with_code


def built_matrix(plan_path: Path) -> Matrix:
    """Return the matrix of the build whose plan is at `plan_path`.

    A built level counts as compiled if it has registrations, or if the build has no kernels. Raises `PlanError` if the
    plan or a file of registrations cannot be read.
    """
    build, folder = read_plan(plan_path), plan_path.parent
    made = BuildObjects(build.plan, folder, (), folder)
    codes = {level: registered.level_code(build.record.project) for level, registered in made.registrations.items()}
    matrix = with_code(planned_matrix(build), codes)
    levels = (
        replace(level, compiled=level.verdict == BUILT and (level.name in codes or not matrix.kernels))
        for level in matrix.levels
    )
    return replace(matrix, levels=tuple(levels))


def objects_of(plan_path: Path) -> Mapping[tuple[str, str], Path]:
    """Return the objects of copies in the build whose plan is at `plan_path`, by (kernel source, level).

    Left out are shims (the C sources that register Fortran and assembly), objects that do not exist yet, and objects
    whose format isagen does not read.
    """
    made = BuildObjects(read_plan(plan_path).plan, plan_path.parent, (), plan_path.parent)
    compiled, shims = CompiledObjects(made.plan), made.plan.shims()
    objects = {}
    for path in (path for of_level in made.by_level.values() for path in of_level):
        level, source = compiled.kernel_of(path)
        if level and compiled.copy_of(path) not in shims and is_binary(path):
            objects[source, level] = path
    return objects


def matrices_in(binary: Binary) -> list[Matrix]:
    """Return a binary's matrices, one for each set of kernels in it. Raises `AuditError` if a note cannot be read."""
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
