"""The known bugs of a build's compilers: the levels that each may affect, and warnings about kernels."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

from ..model.matrix import MatrixCompiler
from ..model.plan import BUILT, Plan
from ..processors.flags import compiler_family
from ..processors.known_broken import NOTE, KnownBroken


def known_bugs(
    known: Iterable[KnownBroken],
    compilers: Mapping[str, MatrixCompiler],
    macros: Mapping[str, Collection[str]],
    plan: Plan,
) -> Iterator[tuple[KnownBroken, str, tuple[str, ...]]]:
    """Yield each `known` bug that may affect built levels, with its compiler's language and these levels.

    Bugs that make levels unavailable are left out. `macros` maps a language to the macros that its compiler predefines.
    """
    for bug in (one for one in known if one.effect == NOTE):
        for language, compiler in compilers.items():
            own = compiler_family(compiler.id), compiler.version, macros[language]
            touched = (level for level in plan.levels if bug.concerns(*own, level.features))
            levels = tuple(level.name for level in touched if level.verdict == BUILT)
            if levels:
                yield bug, language, levels


def bug_warnings(
    found: Iterable[tuple[KnownBroken, str, tuple[str, ...]]],
    compilers: Mapping[str, MatrixCompiler],
    plan: Plan,
    texts: Mapping[str, str],
) -> Iterator[str]:
    """Yield a warning for each kernel that contains a word of a bug and is built at a level that the bug affects."""
    for bug, language, levels in found:
        for kernel in (one for one in plan.kernels if one.language == language):
            built = [cell.level for cell in kernel.cells if cell.verdict == BUILT and cell.level in levels]
            word = next((word for word in bug.words if word in texts.get(kernel.source, "")), "")
            if built and word:
                name = compilers[language].name
                yield (
                    f"isagen: {kernel.source} contains {word}, which {name} miscompiles at {' '.join(built)}: "
                    f"{bug.text}\n  use a compiler without the bug, or leave these levels out for this kernel"
                )
