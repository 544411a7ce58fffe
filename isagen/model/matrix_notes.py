"""The build matrix in binaries: two kinds of notes, each compressed JSON.

One is the matrix as configuring planned it. The others are of one level each, and say what its objects hold.
"""

from __future__ import annotations

import json
import math
import zlib
from typing import Any, TypeVar

from .codec import from_data
from .errors import AuditError
from .languages import LANGUAGES
from .matrix import MATRIX_FORMAT, LevelCode, Matrix
from .plan import BUILT, DISABLED, UNAVAILABLE

T = TypeVar("T", Matrix, LevelCode)
# Twice what a matrix of ten thousand kernels has. As JSON, a byte may take some thirty bytes of memory.
LONGEST = 1 << 26
# The format of a matrix without aliases of its override.
WITHOUT_ALIASES = 2


def pack(value: Matrix | LevelCode) -> bytes:
    """Return the text of a note."""
    data = json.dumps({"format": MATRIX_FORMAT, **vars(value)}, separators=(",", ":"), default=vars)
    return zlib.compress(data.encode("ascii"), 6)  # 9 saves half a percent, and takes twice as long


def unpack(kind: type[T], note: bytes, shown: str) -> T:
    """Read a note of the file that messages name `shown`. Raises `AuditError` if it is damaged or of a later isagen."""
    try:
        text = zlib.decompressobj().decompress(note, LONGEST)
        data: Any = json.loads(text)
        found = data.pop("format")
        if found == WITHOUT_ALIASES and kind is Matrix:
            data["aliases"] = []
        if found not in (WITHOUT_ALIASES, MATRIX_FORMAT):
            raise AuditError(
                f"its build matrix is of format {found}, and this isagen reads format {MATRIX_FORMAT}",
                where=shown,
                remedy="read it with an isagen as new as the one that built it",
            )
        value = from_data(kind, data)
        if isinstance(value, Matrix):
            _check(value)
        else:
            _check_code(value)
        return value
    except (zlib.error, ValueError, KeyError, TypeError, AttributeError, RecursionError, MemoryError) as problem:
        raise AuditError(f"its build matrix is damaged: {problem}", where=shown) from None


def _check(matrix: Matrix) -> None:
    """Raise ValueError where parts of a matrix do not fit: output relies on that."""
    names = [level.name for level in matrix.levels]
    if len(set(names)) != len(names):
        raise ValueError("levels are there twice")
    for kernel in matrix.kernels:
        if kernel.levels.keys() != set(names):
            raise ValueError(f"{kernel.source!r} has other levels than the matrix")
    verdicts = {level.verdict for level in matrix.levels} | {cell.verdict for _, _, cell in matrix.cells()}
    if unknown := verdicts - {BUILT, DISABLED, UNAVAILABLE}:
        raise ValueError(f"{min(unknown)!r} is no verdict")
    if unknown := {kernel.language for kernel in matrix.kernels} - LANGUAGES.keys():
        raise ValueError(f"{min(unknown)!r} is no language")
    if any(cell.seconds is not None and not math.isfinite(cell.seconds) for _, _, cell in matrix.cells()):
        raise ValueError("a time is no number")


def _check_code(level: LevelCode) -> None:
    for source, kernel in level.kernels.items():
        code = kernel.code
        if code is None:
            continue
        counts = code.loaded_bytes, code.code_bytes, code.instructions or 0, code.widest
        if min(counts) < 0 or min(code.families.values(), default=1) < 1:
            raise ValueError(f"a count of {source!r} is too small")
