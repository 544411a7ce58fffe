"""The differences between two matrices: facts of the build, levels, kernels and cells."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace

from ..model.matrix import Matrix, MatrixCell, MatrixLevel
from ..model.plan import BUILT
from .words import size_text, width_text

NOWHERE = "not there"


@dataclass(frozen=True)
class Change:
    """One difference: the name of the fact that differs, and its text on both sides, "" if it is empty."""

    what: str
    before: str
    after: str


@dataclass(frozen=True)
class _Item:
    """A text to compare, and parts to compare if the texts are equal; a part's key is appended to the item's name."""

    text: str
    parts: Mapping[str, _Item] = field(default_factory=dict)


def differences(before: Matrix, after: Matrix) -> list[Change]:
    """Return the differences between two matrices: first facts of the build, then levels, then kernels.

    A cell that differs as its whole level does is not repeated.
    """
    old, new = _items(before), _items(after)
    absent = _Item(NOWHERE)
    changes = [
        change
        for name in dict.fromkeys((*new, *old))
        for change in _compare(name, old.get(name, absent), new.get(name, absent))
    ]
    return [change for change in changes if _without_kernel(change) not in changes]


def _without_kernel(change: Change) -> Change | None:
    """Return a cell's change as it would be one of the level; None if it is no cell's."""
    kernel, _, level = change.what.rpartition(" at ")
    return replace(change, what=level) if kernel else None


def _compare(name: str, old: _Item, new: _Item) -> Iterator[Change]:
    """Yield the difference between two texts; if they are equal, those between parts that both items have."""
    if old.text != new.text:
        yield Change(name, old.text, new.text)
        return
    for end in new.parts:
        if end in old.parts:
            yield from _compare(name + end, old.parts[end], new.parts[end])


def _items(matrix: Matrix) -> dict[str, _Item]:
    facts = {
        field.name.replace("_", " "): _Item(_text(getattr(matrix, field.name)))
        for field in fields(Matrix)
        if field.name not in ("levels", "kernels", "compilers")
    }
    compilers = {f"compiler of {language}": _Item(compiler.name) for language, compiler in matrix.compilers.items()}
    levels = {level.name: _level(level) for level in matrix.levels}
    kernels = {
        kernel.source: _Item("kernel", {f" at {name}": _cell(cell) for name, cell in kernel.levels.items()})
        for kernel in matrix.kernels
    }
    return facts | compilers | levels | kernels


def _level(level: MatrixLevel) -> _Item:
    parts = {f": {name}": getattr(level, name) for name in ("rank", "requires", "features", "macros")}
    parts |= {f": flags of {language}": flags for language, flags in level.flags.items()}
    return _Item(_verdict(level), {end: _Item(_text(part)) for end, part in parts.items()})


def _cell(cell: MatrixCell) -> _Item:
    parts = {": flags": _Item(_text(cell.flags))}
    if cell.stubs is not None:
        parts[": stubs"] = _Item(_text(cell.stubs))
    if cell.code is not None:
        parts[": code"] = _Item(size_text(cell.code.code_bytes), {"": _Item(cell.code.digest)})
        parts[": widest register"] = _Item(width_text(cell.code.widest))
        parts[": linked copy"] = _Item(cell.folded or "its own")
    return _Item(_verdict(cell), parts)


def _verdict(item: MatrixLevel | MatrixCell) -> str:
    return f"{item.verdict}: {item.reason}" if item.reason and item.verdict != BUILT else item.verdict


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return " ".join(map(str, value)) if isinstance(value, tuple) else str(value)
