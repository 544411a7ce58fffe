"""The build matrix in binaries: two kinds of notes, each compressed JSON.

One note contains the matrix as configuring planned it (`record.MATRIX_OWNER`). For each level, a further note lists the
stubs and code in the level's objects (`record.LEVEL_OWNER`).
"""

from __future__ import annotations

import zlib
from typing import TypeVar

from .codec import from_text, to_text
from .errors import AuditError
from .matrix import Matrix
from .names import MATRIX_FORMAT
from .plan import BUILT, DISABLED, UNAVAILABLE
from .registrations import LevelCode

T = TypeVar("T", Matrix, LevelCode)
# The most bytes of JSON that are read: twice the size of a matrix of ten thousand kernels. The limit bounds memory:
# Python may use some thirty bytes for each byte of JSON.
LONGEST = 1 << 26


def pack(value: Matrix | LevelCode) -> bytes:
    """Return the content of a note."""
    return zlib.compress(to_text(value, MATRIX_FORMAT).encode(), 6)  # 9 saves half a percent in twice the time


def unpack(kind: type[T], note: bytes, shown: str) -> T:
    """Return the value in a `note` of the file `shown`. Raises `AuditError` if it is damaged or of another format."""
    try:
        value = from_text(kind, zlib.decompressobj().decompress(note, LONGEST), MATRIX_FORMAT)
        if isinstance(value, Matrix):
            _check(value)
    except (zlib.error, ValueError, MemoryError) as problem:
        remedy = "read it with the isagen that built it, or build it again with this one"
        raise AuditError(f"its build matrix cannot be read: {problem}", where=shown, remedy=remedy) from None
    return value


def _check(matrix: Matrix) -> None:
    """Raise ValueError if parts of a matrix contradict each other: reports rely on their agreement."""
    names = [level.name for level in matrix.levels]
    if not names:
        raise ValueError("it has no levels")
    if len(set(names)) != len(names):
        raise ValueError("two levels have the same name")
    if any(kernel.levels.keys() != set(names) for kernel in matrix.kernels):
        raise ValueError("a kernel has other levels than the matrix")
    verdicts = {level.verdict for level in matrix.levels} | {cell.verdict for _, _, cell in matrix.cells()}
    if not verdicts <= {BUILT, DISABLED, UNAVAILABLE}:
        raise ValueError("a verdict is unknown")
