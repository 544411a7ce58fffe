"""The matrices that a binary carries in its notes."""

from __future__ import annotations

from collections.abc import Iterable

from ..binary.protocol import Binary
from ..model.frozen import replace
from ..model.matrix import LevelCode, Matrix
from ..model.matrix_notes import unpack
from ..model.plan import BUILT
from ..model.record import LEVEL_OWNER, MATRIX_OWNER
from .planned import with_code


def matrices_in(binary: Binary) -> list[Matrix]:
    """Return the matrices of a binary: one for each project of isagen that is linked into it.

    Raises `AuditError` where a note is damaged, or was written by a later isagen.
    """
    levels = levels_in(binary)
    found = [unpack(Matrix, note, binary.shown) for note in binary.notes(MATRIX_OWNER)]
    return [
        with_code(_compiled(one), {name: code for (project, name), code in levels.items() if project == one.project})
        for one in found
    ]


def levels_in(binary: Binary) -> dict[tuple[str, str], LevelCode]:
    """Return what the notes say of the levels' objects, by project and level."""
    found: dict[tuple[str, str], LevelCode] = {}
    for one in _levels(binary):
        known = found.get((one.project, one.level))
        found[one.project, one.level] = one if known is None else replace(one, kernels={**known.kernels, **one.kernels})
    return found


def _levels(binary: Binary) -> Iterable[LevelCode]:
    return (unpack(LevelCode, note, binary.shown) for note in binary.notes(LEVEL_OWNER))


def _compiled(matrix: Matrix) -> Matrix:
    """Return the matrix of a linked file: what is built is compiled."""
    return replace(matrix, levels=tuple(replace(level, compiled=level.verdict == BUILT) for level in matrix.levels))
