"""The reason why a level, or a kernel at a level, is or is not built, supported and selected, and the remedy."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum

from ..model.errors import ProjectError, did_you_mean
from ..model.matrix import Matrix, MatrixCell, MatrixKernel, MatrixLevel
from ..model.optimization import is_scalar, reason_for_plain_code
from ..model.plan import BUILT, DISABLED, UNAVAILABLE
from .selection import Selection
from .words import count_text, level_cells, size_text, width_text


class Because(StrEnum):
    """The reason of a verdict."""

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
class Why:
    """The answer: the reason, as a constant and as a sentence, and details, a line each."""

    because: Because
    sentence: str
    details: tuple[str, ...] = ()


def why(matrix: Matrix, level_name: str, kernel_name: str, here: Selection) -> Why:
    """Return the reason of the state that a level, or one kernel at it, has on the machine `here`.

    Without `kernel_name`, the answer is about the level as a whole. Raises `ProjectError` where the matrix has no such
    level or kernel.
    """
    level = _level(matrix, level_name)
    if not kernel_name:
        cells = level_cells(matrix, level.name)
        built = f"{sum(cell.verdict == BUILT for cell in cells)} of {count_text(len(cells), 'kernel')}"
        because, said = _reason(matrix, level, level, here)
        return _answer(matrix, level, level.name, because, said, f"built for {built}")
    kernel = _kernel(matrix, kernel_name)
    cell = kernel.levels[level.name]
    because, said = _reason(matrix, level, cell, here)
    if cell.verdict == BUILT and cell.stubs == () and any(other.stubs for other in kernel.levels.values()):
        because = Because.NO_STUB
        said = "registers no function at this level: its stubs call that of the next lower level that has one"
    advice = [reason_for_plain_code(matrix.optimization)] if cell.same_as and is_scalar(matrix.optimization) else []
    answer = _answer(matrix, level, f"{kernel.source} at {level.name}", because, said, *_code(cell), *advice)
    return replace(answer, details=(*answer.details, *_runs_here(matrix, kernel, here)))


def _runs_here(matrix: Matrix, kernel: MatrixKernel, here: Selection) -> Iterator[str]:
    """Yield which copy of a kernel this machine runs, where it is known."""
    supported = [one for one in matrix.levels if not here.problem and not here.missing[one.name]]
    for level in reversed([one for one in supported if one.name not in here.excluded]):
        cell = kernel.levels[level.name]
        if cell.verdict == BUILT and level.compiled is not False and cell.stubs != ():
            yield f"runs here: the copy of {cell.folded or level.name}"
            return


def _answer(matrix: Matrix, level: MatrixLevel, subject: str, because: Because, said: str, *details: str) -> Why:
    """Return the answer, with flags where the level is built and has a stub."""
    sentence = f"{subject} {said}"
    if because in (Because.UNAVAILABLE, Because.DISABLED, Because.NO_STUB):
        return Why(because, sentence)
    flags = sorted({" ".join(flags) or "no flags" for flags in level.flags.values()})
    to_run = because is Because.NOT_PREFERRED and matrix.override
    more = [f"flags: {'; '.join(flags)}", *([f"to run it: {matrix.override}={level.name}"] if to_run else [])]
    return Why(because, sentence, (*details, *more))


def _reason(matrix: Matrix, level: MatrixLevel, one: MatrixLevel | MatrixCell, here: Selection) -> tuple[Because, str]:
    """Return the reason of a level, or of a cell at it, and the sentence without its subject."""
    if one.verdict == UNAVAILABLE:
        return Because.UNAVAILABLE, f"is unavailable: {one.reason}"
    if one.verdict == DISABLED:
        return Because.DISABLED, f"is disabled {one.reason}"
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
        return Because.SELECTED, f"is selected: the best level that CPU and OS support{within}"
    if not here.selected:
        return Because.NO_LEVEL, "is built, but no level that may run is supported"
    other = next(one for one in matrix.levels if one.name == here.selected)
    if level.name in here.excluded and level.rank > other.rank:
        allows = f"allows only {here.asked} and what it requires" if here.asked else "switches it off"
        clause = f"{here.variable}={here.override} {allows}"
        return Because.OVERRIDDEN, f"is built and supported, but {clause}; {other.name} is selected"
    ranks = f"its rank is {other.rank}, and {level.name}'s is {level.rank}"
    return Because.NOT_PREFERRED, f"is built and supported, but {other.name} is preferred: {ranks}"


def _code(cell: MatrixCell) -> list[str]:
    """Return the details of a cell's code."""
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
        lines.append(f"the code is the same as {cell.same_as}'s, and is linked nevertheless")
    return lines


def _level(matrix: Matrix, name: str) -> MatrixLevel:
    level = matrix.level(name)
    if level is None:
        known = [one.name for one in matrix.levels]
        raise ProjectError(
            f"there is no level {name!r} in table {matrix.table}",
            where=matrix.project,
            remedy=did_you_mean(name.upper(), known),
        )
    return level


def _kernel(matrix: Matrix, name: str) -> MatrixKernel:
    """Return the kernel by its path, the end of its path, or a stub that it registers."""
    found = [k for k in matrix.kernels if k.source == name] or [
        k
        for k in matrix.kernels
        if k.source.endswith("/" + name) or any(name in (cell.stubs or ()) for cell in k.levels.values())
    ]
    if len(found) == 1:
        return found[0]
    sources = [kernel.source for kernel in matrix.kernels]
    if found:
        remedy = "give more of its path: " + ", ".join(kernel.source for kernel in found)
        raise ProjectError(f"{name!r} is the name of several kernels", where=matrix.project, remedy=remedy)
    raise ProjectError(f"there is no kernel {name!r}", where=matrix.project, remedy=did_you_mean(name, sources))
