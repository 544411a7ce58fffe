"""Checking the compiler arguments that isa.toml gives single kernels, where an error can still name that file.

What this check misses, the guard headers refuse when copies are compiled.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from ..model.errors import ConfigError
from ..model.plan import BUILT, KernelRow, Plan
from ..planning.config import Config
from ..planning.kernel_settings import settings_of
from ..probe.compiler import Compiler, first_error
from ..processors.features import Features

# What GCC and Clang say of an option that they do not know.
UNKNOWN = re.compile(
    r"unrecognized command-line option|unknown argument|unrecognized argument|unsupported option", re.I
)


def check_own_flags(plan: Plan, features: Features, compilers: Sequence[Compiler], config: Config) -> None:
    """Raise `ConfigError` for arguments in isa.toml that a compiler refuses, or that turn on what is unchecked."""
    by_language = {compiler.language: compiler for compiler in compilers if compiler.dialect != "msvc"}
    checked = {level.name: frozenset(level.features) for level in plan.levels}
    for kernel in plan.kernels:
        if kernel.args and kernel.language in by_language:
            _check(
                kernel, features, by_language[kernel.language], checked, settings_of(kernel.source, config).args_where
            )


def _check(
    kernel: KernelRow, features: Features, compiler: Compiler, checked: Mapping[str, frozenset[str]], where: str
) -> None:
    built = [cell for cell in kernel.cells if cell.verdict == BUILT]
    instructions = any(arg.startswith("-m") for arg in kernel.args)
    for cell in built if instructions else built[:1]:
        level = cell.flags[: len(cell.flags) - len(kernel.args)]
        macros, outcome = compiler.macros(cell.flags)
        if not outcome.ok and UNKNOWN.search(outcome.err):
            raise ConfigError(
                f"{compiler.name} does not know an argument: {first_error(outcome.err)}",
                where=where,
                remedy="take it out, or correct it",
            )
        unchecked = list(_unchecked(macros, features, checked[cell.level]))
        if unchecked:
            alone = (
                a for a in kernel.args if unchecked[-1] in _unchecked(compiler.macros((*level, a))[0], features, ())
            )
            raise ConfigError(
                f"{next(alone, ' '.join(kernel.args))}: {unchecked[-1]} is on, but not checked for {cell.level}: "
                "a CPU without it would run this copy",
                where=where,
                remedy="take it out: each level brings the flags of its features; a table of your own may add a level",
            )


def _unchecked(macros: Mapping[str, str], features: Features, checked: frozenset[str] | tuple[()]) -> Iterator[str]:
    """Yield the features, in their order, that `macros` say are on, without those that are checked."""
    return (name for name in features.turned_on(macros) if name not in checked)
