"""Writes parts of a matrix as words: sizes, widths, verdicts, and the facts of a build."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..model.languages import LANGUAGES
from ..model.matrix import LevelRow, Matrix, MatrixCell, is_plain
from ..model.optimization import NARROW_CODE, PLAIN_CODE, SCALAR, reason_for_plain_code
from ..model.plan import BUILT, DISABLED

NEEDED = "every user's CPU must have them"
WITHOUT_LTO = "kernels are compiled without it: it would merge code of different levels"
NOT_COMPILED = "not compiled"
TILE = 8192  # bits of a tile register: 16 rows of 512 bits
UNITS = ("B", "kB", "MB", "GB")


def size_text(size: int) -> str:
    """Return a size in bytes as text, in the smallest unit in which its rounded value is below 1000, or else in GB."""
    value, unit = float(size), 0
    while value >= 999.5 and unit + 1 < len(UNITS):
        value, unit = value / 1000, unit + 1
    digits = 0 if unit == 0 or value >= 99.95 else 1
    return f"{value:.{digits}f} {UNITS[unit]}"


def width_text(bits: int) -> str:
    """Return the width of a register as text: its bits, "tile", or "none" for 0."""
    return "tile" if bits >= TILE else str(bits) if bits else "none"


def state_of(item: LevelRow | MatrixCell) -> str:
    """Return the verdict on a level or cell; `NOT_COMPILED` if it is `BUILT`, but there is no code yet."""
    waits = item.compiled is False if isinstance(item, LevelRow) else item.stubs is None
    return NOT_COMPILED if item.verdict == BUILT and waits else item.verdict


def state_text(item: LevelRow | MatrixCell) -> str:
    """Return the state of a level or cell, with the reason if it is not built."""
    state = state_of(item)
    return f"{state}: {item.reason}" if item.reason and item.verdict != BUILT else state


def count_text(number: int, noun: str) -> str:
    """Return a number with its noun, in the plural where it is not 1."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def level_cells(matrix: Matrix, level: str) -> list[MatrixCell]:
    """Return the cells of one level, kernel by kernel."""
    return [kernel.levels[level] for kernel in matrix.kernels if level in kernel.levels]


def code_bytes(cells: list[MatrixCell]) -> int | None:
    """Return the bytes of code that built cells add to a program; None if no cell is built, or some code is unknown."""
    built = [cell for cell in cells if cell.verdict == BUILT]
    sizes = [0 if cell.folded else cell.code.code_bytes for cell in built if cell.code is not None]
    return sum(sizes) if built and len(sizes) == len(built) else None


def widest(cells: list[MatrixCell]) -> int | None:
    """Return the width in bits of the widest register in cells; None if no code was decoded."""
    widths = [cell.code.widest for cell in cells if cell.code is not None and cell.code.instructions is not None]
    return max(widths, default=None)


def flags_text(level: LevelRow) -> list[str]:
    """Return lines about a level: its flags, by language if these differ, and dropped flags; or why it is not built."""
    if level.verdict != BUILT:
        return [level.reason]
    texts = {language: " ".join(flags) or "no flags" for language, flags in level.flags.items()} or {"": "no flags"}
    if len(set(texts.values())) == 1:
        lines = [next(iter(texts.values()))]
    else:
        lines = [f"{language}: {flags}" for language, flags in texts.items()]
    for language, dropped in level.dropped.items():
        lines += [f"{language}: without {flag} ({reason})" for flag, reason in dropped]
    return lines


def own_features(matrix: Matrix, level: LevelRow) -> tuple[str, ...]:
    """Return the features that a level needs beyond those of the built levels that it requires."""
    required = (other for other in matrix.levels if other.name in level.requires and other.verdict == BUILT)
    lower = {name for other in required for name in other.features}
    return tuple(name for name in level.features if name not in lower)


def facts(matrix: Matrix) -> Iterator[tuple[str, str]]:
    """Yield (name, text) of each fact of the whole build."""
    yield "built by", f"isagen {matrix.isagen}"
    if matrix.baseline_only:
        yield "levels", f"only {matrix.levels[0].name}: {matrix.baseline_only}"
    yield "compilers", ", ".join(f"{name} ({', '.join(used)})" for name, used in _languages(matrix).items())
    yield "target", f"{matrix.cpu_family} {matrix.system}"
    if matrix.beyond_architecture:
        yield "baseline", f"{' '.join(matrix.beyond_architecture)} ({matrix.baseline_origin}): {NEEDED}"
    yield "optimization", matrix.optimization or "as the compiler arguments say"
    cells = (level_cells(matrix, level.name) for level in matrix.levels)
    codes = [[cell.code for cell in of_level if cell.verdict == BUILT] for of_level in cells]
    if is_plain(codes):
        baseline = matrix.baseline_origin if matrix.beyond_architecture else ""
        reason = reason_for_plain_code(matrix.optimization, baseline)
        yield "code", f"{PLAIN_CODE.format(matrix.levels[0].name)}: {reason}"
    elif matrix.optimization in SCALAR and is_plain(codes, by_width=True):
        yield "code", f"{NARROW_CODE.format(matrix.levels[0].name)}: {reason_for_plain_code(matrix.optimization)}"
    yield "sealed", "yes" if matrix.sealed else f"no, {matrix.seal_reason}"
    yield "audited", f"{'yes, when linked' if matrix.audited else 'no'}, {matrix.audit_reason}"
    if matrix.lto:
        yield "lto", WITHOUT_LTO
    if variables := matrix.variables:
        yield "override at run time", ", else ".join(variable.shown for variable in variables)
    if matrix.withhold:
        yield "withheld at run time", f"what {matrix.withhold}() returns; it is not called here"
    if matrix.known_bugs:
        counted = f"{len(matrix.known_bugs)} in the compilers"
        yield (
            "known bugs",
            f"{counted}; `isagen why LEVEL WHERE` names those of a level, at {matrix.levels[0].name} those of all",
        )


def bugs_text(matrix: Matrix) -> str:
    """Return the known bugs of the compilers, each with the levels whose code may show it."""
    return "; ".join(f"at {' '.join(levels)}: {bug}" for bug, levels in matrix.known_bugs.items())


def _languages(matrix: Matrix) -> dict[str, list[str]]:
    languages: dict[str, list[str]] = {}
    for language, compiler in matrix.compilers.items():
        languages.setdefault(compiler.name, []).append(LANGUAGES.get(language, language))
    return languages


def disabled_levels(levels: Iterable[LevelRow]) -> str:
    """Return the names of the disabled levels by reason, as one text; "" if there are none."""
    names: dict[str, list[str]] = {}
    for level in levels:
        if level.verdict == DISABLED:
            names.setdefault(level.reason, []).append(level.name)
    return "; ".join(f"{' '.join(group)} {reason}" for reason, group in names.items())


def shared_stubs(matrix: Matrix) -> Iterator[tuple[str, str]]:
    """Yield (stub, text) of each stub that several kernels register: the text names the kernel for each level."""
    sources: dict[str, dict[str, str]] = {}
    for level in matrix.levels:
        for kernel in matrix.kernels:
            for stub in kernel.levels[level.name].stubs or ():
                sources.setdefault(stub, {})[level.name] = kernel.source
    for stub, by_level in sources.items():
        if len(set(by_level.values())) > 1:
            yield stub, ", ".join(f"{source} at {level}" for level, source in by_level.items())
