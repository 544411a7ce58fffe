"""Makes the matrix of a build from its plan, and adds the stubs and code of compiled copies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import is_dataclass, replace
from functools import cache
from typing import Any

from ..model.matrix import Matrix, MatrixCell, MatrixCompiler, MatrixKernel
from ..model.plan import BUILT, Build, Cell
from ..model.registrations import LevelCode
from ..processors.baseline import baseline_origin, beyond_architecture
from .paths import without_paths, word_without_path


def planned_matrix(build: Build) -> Matrix:
    """Return the matrix of a build before anything is compiled."""
    plan = build.plan
    return Matrix(
        project=build.record.project,
        isagen=build.isagen,
        table=plan.table,
        features=build.record.features,
        override=plan.override,
        cpu_family=build.cpu_family,
        system=build.system,
        optimization=build.optimization,
        lto=build.lto,
        compilers={language: MatrixCompiler(c.id, c.version, c.name) for language, c in build.compilers.items()},
        baseline=build.record.baseline,
        beyond_architecture=beyond_architecture(build),
        baseline_origin=baseline_origin(build),
        sealed=build.sealing.active,
        seal_reason=build.sealing.reason,
        audited=build.link_audit.active or build.link_audit.of_targets,
        audit_reason=build.link_audit.how,
        levels=plan.levels,
        kernels=tuple(
            MatrixKernel(row.source, row.language, row.args, {cell.level: _planned(cell) for cell in row.cells})
            for row in plan.kernels
        ),
        baseline_only=build.limit.reason,
        aliases=plan.aliases,
        withhold=plan.withhold,
        known_bugs=build.known_bugs,
    )


def _planned(cell: Cell) -> MatrixCell:
    return MatrixCell(cell.verdict, cell.reason, cell.flags, cell.copy)


def public(value: Any) -> Any:
    """Return a matrix, or a part of one, without the paths of the build machine in its texts.

    A text that starts with a dash counts as one word of a command line, in which a path may contain spaces.
    """
    if isinstance(value, str):
        return _public_text(value)
    if isinstance(value, tuple):
        return tuple(map(public, value))
    if isinstance(value, dict):
        return {public(key): public(item) for key, item in value.items()}
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{name: public(item) for name, item in vars(value).items()})
    return value


@cache
def _public_text(text: str) -> str:
    return word_without_path(text) if text.startswith("-") else without_paths(text)


def with_code(matrix: Matrix, levels: Mapping[str, LevelCode]) -> Matrix:
    """Return `matrix` with the stubs and code of `levels`, a mapping by level name, in the cells of compiled copies."""
    requires = {level.name: level.requires for level in matrix.levels}
    kernels = []
    for kernel in matrix.kernels:
        cells = dict(kernel.levels)
        for name, cell in kernel.levels.items():
            own = levels[name].kernels.get(kernel.source) if name in levels and cell.verdict == BUILT else None
            if own is not None:
                lower = ((other, cells[other].code) for other in requires[name] if other in cells)
                same = (other for other, code in lower if code and own.code and code.digest == own.code.digest)
                cells[name] = replace(
                    cell, stubs=own.registers, code=own.code, same_as=next(same, ""), folded=own.folded
                )
        kernels.append(replace(kernel, levels=cells))
    return replace(matrix, kernels=tuple(kernels))
