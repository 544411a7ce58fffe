"""The matrix of a build as configuring planned it, and with the code that was then compiled."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ..model.matrix import (
    KernelCode,
    LevelCode,
    Matrix,
    MatrixCell,
    MatrixCompiler,
    MatrixKernel,
    MatrixLevel,
)
from ..model.plan import BUILT, Build, Cell, KernelRow, LevelRow
from .baseline import baseline_origin, beyond_architecture
from .private import without_paths, words_without_paths


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
        sealed=build.sealing.usable,
        seal_reason=build.sealing.reason,
        audited=build.link_audit.active,
        audit_reason=build.link_audit.reason,
        levels=tuple(map(_level, plan.levels)),
        kernels=tuple(map(_kernel, plan.kernels)),
        baseline_only=build.limit.reason,
        aliases=plan.aliases,
    )


def public(matrix: Matrix) -> Matrix:
    """Return a matrix without the paths of the machine that it was built on."""
    return replace(
        matrix,
        table=words_without_paths((matrix.table,))[0],
        baseline_origin=without_paths(matrix.baseline_origin),
        seal_reason=without_paths(matrix.seal_reason),
        audit_reason=without_paths(matrix.audit_reason),
        baseline_only=without_paths(matrix.baseline_only),
        levels=tuple(
            replace(
                level,
                reason=without_paths(level.reason),
                dropped={
                    language: tuple(
                        (words_without_paths((flag,))[0], without_paths(reason)) for flag, reason in dropped
                    )
                    for language, dropped in level.dropped.items()
                },
                flags={language: words_without_paths(flags) for language, flags in level.flags.items()},
            )
            for level in matrix.levels
        ),
        kernels=tuple(_public_kernel(kernel) for kernel in matrix.kernels),
    )


def with_code(matrix: Matrix, levels: Mapping[str, LevelCode]) -> Matrix:
    """Return a matrix with what the objects of its levels hold; levels of which nothing is known stay as they are."""
    return replace(matrix, kernels=tuple(_with_code(matrix, kernel, levels) for kernel in matrix.kernels))


def _level(level: LevelRow) -> MatrixLevel:
    return MatrixLevel(
        name=level.name,
        rank=level.rank,
        verdict=level.verdict,
        reason=level.reason,
        requires=level.below,
        features=level.features,
        flags=level.flags,
        macros=level.macros,
        dropped=level.dropped,
        compiled=None,
    )


def _kernel(kernel: KernelRow) -> MatrixKernel:
    cells = {cell.level: _cell(kernel, cell) for cell in kernel.cells}
    return MatrixKernel(kernel.source, kernel.language, kernel.args, cells)


def _cell(kernel: KernelRow, cell: Cell) -> MatrixCell:
    return MatrixCell(cell.verdict, cell.reason, cell.flags, cell.copy if not kernel.object else "")


def _public_kernel(kernel: MatrixKernel) -> MatrixKernel:
    return replace(
        kernel,
        source=words_without_paths((kernel.source,))[0],
        args=words_without_paths(kernel.args),
        levels={name: _public_cell(cell) for name, cell in kernel.levels.items()},
    )


def _public_cell(cell: MatrixCell) -> MatrixCell:
    reason, flags = without_paths(cell.reason), words_without_paths(cell.flags)
    unchanged = reason == cell.reason and flags == cell.flags  # as of most of thousands
    return cell if unchanged else replace(cell, reason=reason, flags=flags)


def _with_code(matrix: Matrix, kernel: MatrixKernel, levels: Mapping[str, LevelCode]) -> MatrixKernel:
    found: dict[str, KernelCode] = {}
    for name, cell in kernel.levels.items():
        level = levels.get(name)
        if cell.verdict == BUILT and level is not None and kernel.source in level.kernels:
            found[name] = level.kernels[kernel.source]
    required = {level.name: level.requires for level in matrix.levels}
    cells = {
        name: replace(
            cell,
            stubs=found[name].stubs,
            code=found[name].code,
            same_as=_same(found, name, required.get(name, ())),
            folded=found[name].folded,
        )
        if name in found
        else cell
        for name, cell in kernel.levels.items()
    }
    return replace(kernel, levels=cells)


def _same(found: Mapping[str, KernelCode], name: str, required: tuple[str, ...]) -> str:
    """Return the lowest of the levels that one requires whose copy has the same code; nothing where none has."""
    digests = {level: one.code.digest for level, one in found.items() if one.code is not None}
    lower = [other for other in digests if other in required]
    return next((other for other in lower if digests[other] == digests.get(name)), "")
