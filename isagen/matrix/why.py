"""Explains why a level, or a kernel at a level, is or is not built, supported and selected."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from ..model.errors import ProjectError, did_you_mean
from ..model.matrix import LevelRow, Matrix, MatrixCell, MatrixKernel
from ..model.optimization import SCALAR, UNFOLDED_OPTIMIZATIONS, reason_for_plain_code
from ..model.plan import BUILT, DISABLED, UNAVAILABLE
from .selection import Selection
from .words import count_text, facts, level_cells, size_text, width_text

MANY = 10  # the most names of kernels and stubs that an error lists if none of them is similar to the given one
UNFOLDED = (
    "it contains more than code and constants, has a function in common with a kernel that does not fold, is part of a "
    "whole module, or isa.toml has fold = false"
)


class Because(StrEnum):
    """The reason for the state of a level or cell."""

    UNAVAILABLE = "unavailable"
    DISABLED = "disabled"
    NOT_COMPILED = "not compiled"
    NO_STUB = "no stub"
    UNKNOWN_HERE = "unknown here"
    UNSUPPORTED = "unsupported"
    SELECTED = "selected"
    OVERRIDDEN = "overridden"
    NO_LEVEL = "no level"
    NOT_PREFERRED = "not preferred"


@dataclass(frozen=True)
class Explanation:
    """The reason for a state: as a constant and as a sentence, with details of one line each."""

    because: Because
    sentence: str
    details: tuple[str, ...] = ()


def explain(matrix: Matrix, level_name: str, kernel_name: str, here: Selection) -> Explanation:
    """Explain the state of a level, or of one kernel at this level, on the machine whose selection is `here`.

    If `kernel_name` is "", the whole level is explained. If `level_name` then names a kernel and no level, this kernel
    is explained at the level that the machine selects. Raises `ProjectError` if the matrix has no such level, and as
    `find_kernels` does.
    """
    if not kernel_name and here.selected and matrix.level(level_name) is None and _named(matrix, level_name):
        level_name, kernel_name = here.selected, level_name
    level = _level(matrix, level_name)
    if not kernel_name:
        cells = level_cells(matrix, level.name)
        built = f"{sum(cell.verdict == BUILT for cell in cells)} of {count_text(len(cells), 'kernel')}"
        because, predicate = _cause(matrix, level, level, here)
        gains = [text for name, text in facts(matrix) if name == "code"]
        details = _details(matrix, level, because, f"built for {built}", *gains, *_bugs(matrix, level))
        return Explanation(because, f"{level.name} {predicate}", tuple(details))
    kernels = find_kernels(matrix, kernel_name)
    kernel, called = next(_copies(matrix, kernels, (level.name, *level.requires)), (kernels[0], level.name))
    cell = kernel.levels[level.name]
    because, predicate = _cause(matrix, level, cell, here)
    running = _running(matrix, kernels, here)
    if because is Because.NOT_PREFERRED and running is not None and running[0] == kernel:
        at = running[1]
        if at == level.name:
            because = Because.SELECTED
            predicate = "is selected: no better level that runs here has a function for its stubs"
        elif (cell.folded or level.name) == kernel.levels[at].folded:
            because = Because.SELECTED
            predicate = f"runs here: {at} is preferred, but its code is the same, and is linked once"
    if cell.verdict == BUILT and cell.stubs == () and any(other.stubs for other in kernel.levels.values()):
        because = Because.NO_STUB
        predicate = "registers no function at this level: its stubs call the best other level that runs and has one"
    advice = [reason_for_plain_code(matrix.optimization)] if cell.same_as and matrix.optimization in SCALAR else []
    details = _details(matrix, level, because, *_bugs(matrix, level, kernel), *_code(matrix, cell), *advice)
    several = len(kernels) > 1  # then all register one stub; at `level`, it calls the copy of `kernel` for `called`
    if several and called != level.name:
        details.append(f"{kernel_name} at {level.name}: the copy of {called}")
    if running is not None:
        best, at = running
        folded, path = best.levels[at].folded, f", {best.source}" if several else ""
        why = f", because {at}'s has the same code" if folded else ""
        details.append(f"runs here: the copy of {folded or at}{path}{why}")
    if matrix.withhold:
        details.append(f"{matrix.withhold}() may withhold features; it is not called here")
    return Explanation(because, f"{kernel.source} at {level.name} {predicate}", tuple(details))


def _copies(
    matrix: Matrix, kernels: Sequence[MatrixKernel], levels: Collection[str]
) -> Iterator[tuple[MatrixKernel, str]]:
    """Yield (kernel, level) of each copy of `kernels` at these `levels` that stubs may call, the best copy first."""
    for level in reversed(matrix.levels):
        for kernel in kernels if level.name in levels and level.compiled is not False else ():
            cell = kernel.levels[level.name]
            if cell.verdict == BUILT and cell.stubs != ():
                yield kernel, level.name


def _running(matrix: Matrix, kernels: Sequence[MatrixKernel], here: Selection) -> tuple[MatrixKernel, str] | None:
    """Return (kernel, level) of the best copy that the machine supports and the override allows, if that is known."""
    if here.problem:
        return None
    allowed = [name for name, missing in here.missing.items() if not missing and name not in here.excluded]
    return next(_copies(matrix, kernels, allowed), None)


def _details(matrix: Matrix, level: LevelRow, because: Because, *own: str) -> list[str]:
    """Return `own` and further details of a level. There are none if stubs cannot call the code."""
    if because in (Because.UNAVAILABLE, Because.DISABLED, Because.NO_STUB):
        return []
    flags = sorted({" ".join(flags) or "no flags" for flags in level.flags.values()})
    to_run = because is Because.NOT_PREFERRED and matrix.override
    more = [f"to run it: {matrix.override}={level.name}"] if to_run else []
    return [*own, f"flags: {'; '.join(flags)}", *more]


def _bugs(matrix: Matrix, level: LevelRow, kernel: MatrixKernel | None = None) -> Iterator[str]:
    """Yield a line for each known compiler bug that affects a level.

    A bug that affects the lowest level affects every level. It is shown only if the whole lowest level is explained.
    """
    lowest = matrix.levels[0].name
    for bug, levels in matrix.known_bugs.items():
        if level.name in levels and (lowest not in levels or (level.name == lowest and kernel is None)):
            yield f"known bug: {bug}"


def _cause(matrix: Matrix, level: LevelRow, planned: LevelRow | MatrixCell, here: Selection) -> tuple[Because, str]:
    """Return the reason for the state of `planned`, a level or one of its cells, and the predicate of the sentence."""
    if planned.verdict == UNAVAILABLE:
        return Because.UNAVAILABLE, f"is unavailable: {planned.reason}"
    if planned.verdict == DISABLED:
        return Because.DISABLED, f"is disabled {planned.reason}"
    if level.compiled is False:
        return Because.NOT_COMPILED, "is not compiled yet"
    if here.problem:
        return Because.UNKNOWN_HERE, f"is built; whether it runs is not known here: {here.problem}"
    if here.missing[level.name]:
        lacks = " ".join(here.missing[level.name])
        return Because.UNSUPPORTED, f"is built, but CPU or OS lack features that it needs: {lacks}"
    if here.selected == level.name:
        if here.asked == level.name:
            return Because.SELECTED, f"is selected: {here.variable} asks for it, and CPU and OS support it"
        within = f" and that {here.variable}={here.override} allows" if here.excluded else ""
        return Because.SELECTED, f"is selected: the best built level that CPU and OS support{within}"
    allows = f"allows only {here.asked} and what it requires" if here.asked else "switches it off"
    clause = f"is built and supported, but {here.variable}={here.override} {allows}"
    if not here.selected:
        return Because.NO_LEVEL, f"{clause}; no supported level is left"
    selected = next(other for other in matrix.levels if other.name == here.selected)
    if level.name in here.excluded and level.rank > selected.rank:
        return Because.OVERRIDDEN, f"{clause}; {selected.name} is selected"
    ranks = f"its rank is {selected.rank}, and {level.name}'s is {level.rank}"
    return Because.NOT_PREFERRED, f"is built and supported, but {selected.name} is preferred: {ranks}"


def _unfolded(matrix: Matrix) -> str:
    """Return why a copy with the same code as a lower level's is linked nevertheless, as far as the matrix shows it."""
    if not matrix.sealed:
        return "levels that are not sealed do not fold"
    if matrix.optimization in UNFOLDED_OPTIMIZATIONS:
        return f"at {matrix.optimization}, each level has its own copy for debuggers"
    return UNFOLDED


def _code(matrix: Matrix, cell: MatrixCell) -> list[str]:
    lines = [f"stubs: {' '.join(cell.stubs)}"] if cell.stubs else []
    if cell.code is not None:
        parts = [f"code: {size_text(cell.code.code_bytes)}"]
        if cell.code.instructions is not None:
            parts.append(
                f"{count_text(cell.code.instructions, 'instruction')}, widest register: {width_text(cell.code.widest)}"
            )
            parts += [", ".join(f"{count} of {name}" for name, count in cell.code.families.items())]
        lines.append("; ".join(part for part in parts if part))
    if cell.folded:
        lines.append(
            f"the code is the same as {cell.folded}'s, and is linked once: the stubs call {cell.folded}'s copy"
        )
    elif cell.same_as:
        lines.append(f"the code is the same as {cell.same_as}'s, and is linked nevertheless: {_unfolded(matrix)}")
    return lines


def _level(matrix: Matrix, name: str) -> LevelRow:
    level = matrix.level(name)
    if level is None:
        names = [other.name for other in matrix.levels]
        is_kernel = f"{name!r} is a kernel: name a level before it" if _named(matrix, name) else ""
        limit = f"only {names[0]} is built: {matrix.baseline_only}" if matrix.baseline_only else ""
        raise ProjectError(
            f"there is no level {name!r} in table {matrix.table}",
            where=matrix.project,
            remedy=limit or f"{is_kernel or did_you_mean(name.upper(), names)}; usage: isagen why LEVEL [KERNEL] WHERE",
        )
    return level


def find_kernels(matrix: Matrix, name: str) -> list[MatrixKernel]:
    """Return the kernel whose path is `name` or ends in /`name`; or else the kernels that register a stub `name`.

    `_stub` at the end of the stub's name may be left out. If no kernel registers this stub, return the one kernel with
    a stub whose name begins with `name` and an underscore. Raises `ProjectError` if no kernel is found, or if several
    are found by their paths or by the beginning of a stub's name.
    """
    found = _named(matrix, name)
    if not found:
        names = [one for kernel in matrix.kernels for one in (kernel.source, *_stubs(kernel))]
        like = [one for one in names if f"_{name}_" in f"_{one}_"]
        remedy = did_you_mean(name, like or names)
        if not like and len(names) > MANY and remedy.startswith("known: "):
            remedy = "`isagen matrix WHERE` lists the kernels"
        raise ProjectError(f"there is no kernel {name!r}", where=matrix.project, remedy=remedy)
    if len(found) > 1 and found != _having(matrix, name):
        remedy = "give more of its path: " + ", ".join(kernel.source for kernel in found)
        raise ProjectError(f"{name!r} is the name of several kernels", where=matrix.project, remedy=remedy)
    return found


def _named(matrix: Matrix, name: str) -> list[MatrixKernel]:
    kernels = matrix.kernels
    return (
        [kernel for kernel in kernels if kernel.source == name]
        or [kernel for kernel in kernels if kernel.source.endswith(f"/{name}")]
        or _having(matrix, name)
        or [kernel for kernel in kernels if any(stub.startswith(f"{name}_") for stub in _stubs(kernel))]
    )


def _having(matrix: Matrix, stub: str) -> list[MatrixKernel]:
    return [kernel for kernel in matrix.kernels if not {stub, f"{stub}_stub"}.isdisjoint(_stubs(kernel))]


def _stubs(kernel: MatrixKernel) -> list[str]:
    return list(dict.fromkeys(stub for cell in kernel.levels.values() for stub in cell.stubs or ()))
