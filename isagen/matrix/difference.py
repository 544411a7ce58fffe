"""The differences between two matrices: facts of the build, levels, kernels and cells."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields

from ..model.matrix import Matrix, MatrixCell, MatrixLevel
from .words import size_text, width_text

NOWHERE = "not there"


@dataclass(frozen=True)
class Change:
    """One difference: what differs, and its value on both sides, empty where it has none."""

    what: str
    before: str
    after: str


def differences(before: Matrix, after: Matrix) -> list[Change]:
    """Return what differs between two matrices: first the facts of the build, then levels, then kernels."""
    return [
        change
        for change in (*_facts(before, after), *_levels(before, after), *_cells(before, after))
        if change.before != change.after
    ]


def _facts(before: Matrix, after: Matrix) -> Iterator[Change]:
    for one in fields(Matrix):
        if one.name not in ("levels", "kernels", "compilers"):
            yield Change(one.name.replace("_", " "), _text(getattr(before, one.name)), _text(getattr(after, one.name)))
    for language in dict.fromkeys((*before.compilers, *after.compilers)):
        old, new = before.compilers.get(language), after.compilers.get(language)
        yield Change(f"compiler of {language}", old.name if old else NOWHERE, new.name if new else NOWHERE)


def _levels(before: Matrix, after: Matrix) -> Iterator[Change]:
    old, new = ({level.name: level for level in matrix.levels} for matrix in (before, after))
    for name in dict.fromkeys((*new, *old)):
        if name not in old or name not in new:
            yield Change(name, _verdict(old.get(name)), _verdict(new.get(name)))
            continue
        yield Change(name, _verdict(old[name]), _verdict(new[name]))
        for part in ("rank", "requires", "features", "macros"):
            yield Change(f"{name}: {part}", *(_text(getattr(one, part)) for one in (old[name], new[name])))
        for language in dict.fromkeys((*old[name].flags, *new[name].flags)):
            flags = (_text(one.flags.get(language, ())) for one in (old[name], new[name]))
            yield Change(f"{name}: flags of {language}", *flags)


def _verdict(level: MatrixLevel | MatrixCell | None) -> str:
    if level is None:
        return NOWHERE
    return f"{level.verdict}: {level.reason}" if level.reason and level.verdict != "built" else level.verdict


def _cells(before: Matrix, after: Matrix) -> Iterator[Change]:
    old, new = ({kernel.source: kernel for kernel in matrix.kernels} for matrix in (before, after))
    for source in dict.fromkeys((*new, *old)):
        if source not in old or source not in new:
            yield Change(source, *("kernel" if source in side else NOWHERE for side in (old, new)))
            continue
        for name in old[source].levels:
            if name in new[source].levels:
                yield from _cell(f"{source} at {name}", old[source].levels[name], new[source].levels[name])


def _cell(what: str, old: MatrixCell, new: MatrixCell) -> Iterator[Change]:
    yield Change(what, _verdict(old), _verdict(new))
    if old.verdict != new.verdict:
        return
    yield Change(f"{what}: flags", _text(old.flags), _text(new.flags))
    if old.stubs is not None and new.stubs is not None:
        yield Change(f"{what}: stubs", _text(old.stubs), _text(new.stubs))
    if old.code is None or new.code is None:
        return
    sizes = size_text(old.code.code_bytes), size_text(new.code.code_bytes)
    yield Change(f"{what}: code", *sizes)
    yield Change(f"{what}: widest register", width_text(old.code.widest), width_text(new.code.widest))
    if sizes[0] == sizes[1]:
        yield Change(f"{what}: code", old.code.digest, new.code.digest)
    yield Change(f"{what}: linked copy", old.folded or "its own", new.folded or "its own")


def _text(value: object) -> str:
    if isinstance(value, tuple):
        return " ".join(map(str, value))
    return {True: "yes", False: "no"}.get(value, str(value)) if isinstance(value, bool) else str(value)
