"""The differences between two matrices: facts of the build, levels, kernels and cells."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields

from ..model.matrix import Matrix, MatrixCell, MatrixLevel
from ..model.plan import BUILT
from .words import size_text, width_text

NOWHERE = "not there"


@dataclass(frozen=True)
class Change:
    """One difference: what differs, and its value on both sides, empty where it has none."""

    what: str
    before: str
    after: str


@dataclass(frozen=True)
class _Item:
    """A text that is compared, and parts that are compared where it is the same, by the ends of their names."""

    text: str
    parts: Mapping[str, _Item] = field(default_factory=dict)


def differences(before: Matrix, after: Matrix) -> list[Change]:
    """Return what differs between two matrices: first the facts of the build, then levels, then kernels."""
    old, new = _items(before), _items(after)
    absent = _Item(NOWHERE)
    return [
        change
        for name in dict.fromkeys((*new, *old))
        for change in _compare(name, old.get(name, absent), new.get(name, absent))
    ]


def _compare(name: str, old: _Item, new: _Item) -> Iterator[Change]:
    """Yield the difference between two texts, or those between the parts that both sides have."""
    if old.text != new.text:
        yield Change(name, old.text, new.text)
        return
    for end in new.parts:
        if end in old.parts:
            yield from _compare(name + end, old.parts[end], new.parts[end])


def _items(matrix: Matrix) -> dict[str, _Item]:
    facts = {
        one.name.replace("_", " "): _Item(_text(getattr(matrix, one.name)))
        for one in fields(Matrix)
        if one.name not in ("levels", "kernels", "compilers")
    }
    compilers = {f"compiler of {language}": _Item(one.name) for language, one in matrix.compilers.items()}
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


def _verdict(one: MatrixLevel | MatrixCell) -> str:
    return f"{one.verdict}: {one.reason}" if one.reason and one.verdict != BUILT else one.verdict


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return " ".join(map(str, value)) if isinstance(value, tuple) else str(value)
