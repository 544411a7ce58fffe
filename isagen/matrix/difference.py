"""The differences between two matrices: facts of the build, levels, kernels and cells."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields

from ..model.matrix import Alias, LevelRow, Matrix, MatrixCell
from ..model.plan import BUILT
from .words import size_text, width_text

NOWHERE = "not there"


@dataclass(frozen=True)
class Change:
    """One difference: the name of the fact that differs, and its text in each matrix.

    The text is "" for an empty fact, and `NOWHERE` if the matrix has no such fact.
    """

    what: str
    before: str
    after: str


def differences(before: Matrix, after: Matrix) -> list[Change]:
    """Return the differences between two matrices, in the order of `after`; what only `before` has comes last.

    The parts of a level, kernel or cell are not compared if the verdicts on it or their reasons differ, or if only one
    matrix has the level or kernel. A part that only one matrix has is left out: for example the code of a cell, if the
    other build is not compiled. The verdict on a cell is left out if the verdict on its level differs in the same way.
    """
    old, new = dict(_texts(before)), dict(_texts(after))
    changes: dict[tuple[str, ...], tuple[str, str]] = {}
    for names in dict.fromkeys((*new, *old)):
        texts = old.get(names, NOWHERE), new.get(names, NOWHERE)
        whole_differs = any(names[:end] in changes for end in range(1, len(names)))
        part_is_new = len(names) > 1 and NOWHERE in texts
        if texts[0] != texts[1] and not whole_differs and not part_is_new:
            changes[names] = texts
    of_level = {("".join(names), texts) for names, texts in changes.items()}
    return [
        Change("".join(names), *texts)
        for names, texts in changes.items()
        if ("".join(names[1:]).removeprefix(" at "), texts) not in of_level
    ]


def _texts(matrix: Matrix) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield (names, text) of each fact that is compared.

    The names of a part begin with those of its whole: ("AVX2", ": rank") is a part of ("AVX2",).
    """
    for field in fields(Matrix):
        if field.name not in ("levels", "kernels", "compilers"):
            yield (field.name.replace("_", " "),), _text(getattr(matrix, field.name))
    for language, compiler in matrix.compilers.items():
        yield (f"compiler of {language}",), compiler.name
    for level in matrix.levels:
        yield (level.name,), _verdict(level)
        for name in ("rank", "requires", "features", "macros"):
            yield (level.name, f": {name}"), _text(getattr(level, name))
        for language, flags in level.flags.items():
            yield (level.name, f": flags of {language}"), _text(flags)
    for kernel in matrix.kernels:
        yield (kernel.source,), "kernel"
        for name, cell in kernel.levels.items():
            yield from (((kernel.source, f" at {name}", *part), text) for part, text in _cell(cell))


def _cell(cell: MatrixCell) -> Iterator[tuple[tuple[str, ...], str]]:
    yield (), _verdict(cell)
    yield (": flags",), _text(cell.flags)
    if cell.stubs is not None:
        yield (": stubs",), _text(cell.stubs)
    if cell.code is not None:
        size = size_text(cell.code.code_bytes)
        yield (": code",), size
        # The names make the digest a part of the size, so digests are compared only if the sizes are equal.
        yield (": code", ""), f"{size}, with the digest {cell.code.digest}"
        yield (": widest register",), width_text(cell.code.widest)
        yield (": linked copy",), cell.folded or "its own"


def _verdict(item: LevelRow | MatrixCell) -> str:
    return f"{item.verdict}: {item.reason}" if item.reason and item.verdict != BUILT else item.verdict


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        return "; ".join(f"{key} at {_text(item)}" for key, item in value.items())
    if isinstance(value, Alias):
        meanings = ", ".join(f"{word.lower()}: {meaning}" for word, meaning in value.values.items())
        return value.shown + (meanings and f" ({meanings})")
    return " ".join(map(_text, value)) if isinstance(value, tuple) else str(value)
