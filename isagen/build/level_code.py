"""What the objects of one level hold, for the matrix: as values, and as the note in one of them."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping
from typing import Any

from ..binary.protocol import ObjectFile
from ..model.matrix import LevelCode
from ..model.names import KERNEL_SYMBOL, MATRIX_FORMAT
from ..model.registrations import Registrations
from .measure import Measure


def level_code(
    project: str, registered: Registrations, objects: Mapping[str, ObjectFile], measure: Measure
) -> LevelCode:
    """Return what the objects of one level hold, by their kernel source, where none is folded."""
    from ..model.matrix import Code, KernelCode, LevelCode

    mark = KERNEL_SYMBOL.format(level=registered.level)
    kernels = {
        source: KernelCode(registered.kernels[source].registers, Code(**measure.code(file, mark)))
        for source, file in objects.items()
    }
    return LevelCode(project, registered.level, kernels)


def level_note(project: str, registered: Registrations, codes: Mapping[str, str]) -> bytes:
    """Return the text of a level's note, which `model.matrix_notes.unpack` reads as a `LevelCode`.

    `codes` are what `compact` made of the code of each kernel source, or of that which it folds to.
    """
    kernels = ",".join(
        f'{_quoted(source)}:{{"stubs":{compact(registered.kernels[source].registers)},"code":{code},'
        f'"folded":{_quoted(registered.folded.get(source, ""))}}}'
        for source, code in codes.items()
    )
    head = f'"format":{MATRIX_FORMAT},"project":{_quoted(project)},"level":{_quoted(registered.level)}'
    return zlib.compress(f'{{{head},"kernels":{{{kernels}}}}}'.encode("ascii"), 9)


def compact(value: Any) -> str:
    """Return plain data as JSON in one line without blanks, as `json` writes it, which takes longer to load."""
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, dict):
        return f"{{{_joined(f'{_quoted(key)}:{compact(one)}' for key, one in value.items())}}}"
    if isinstance(value, (list, tuple)):
        return f"[{_joined(map(compact, value))}]"
    return "null" if value is None else str(value)


def _joined(parts: Iterable[str]) -> str:
    return ",".join(parts)


def _quoted(text: str) -> str:
    if text.isascii() and text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    import json

    return json.dumps(text)
