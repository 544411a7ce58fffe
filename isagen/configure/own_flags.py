"""Checking the compiler arguments that isa.toml gives single kernels, where an error can still name that file.

What this check misses, the guard headers refuse when copies are compiled. Arguments are written for the levels: where a
build has its lowest level alone, what another architecture's compiler refuses is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from ..model.errors import ConfigError
from ..model.languages import language_of
from ..model.plan import BUILT, KernelRow, Limit, Plan
from ..planning.config import Config
from ..planning.kernel_settings import matches, settings_of
from ..probe.compiler import Compiler, first_error
from ..processors.features import Features
from ..processors.flags import units

# What GCC and Clang say of an option that they do not know.
UNKNOWN = re.compile(
    r"unrecognized command-line option|unknown argument|unrecognized argument|unsupported option", re.I
)


def without_refused(
    config: Config, kernels: Iterable[str], compilers: Iterable[Compiler], limit: Limit
) -> tuple[Config, list[str]]:
    """Return the configuration without arguments that a compiler of `kernels` refuses, and what Meson shall warn of.

    Where all levels are built, it stays as it is.
    """
    by_language = {compiler.language: compiler for compiler in compilers}
    entries, warnings = dict(config.kernels), []
    for key, entry in config.kernels.items() if limit.reason else ():
        languages = dict.fromkeys(language_of(kernel) for kernel in kernels if key == kernel or matches(key, kernel))
        args = entry.args or ()
        for compiler in (by_language[language] for language in languages):
            refused = [] if compiler.compiles(args) else [unit for unit in units(args) if not compiler.compiles(unit)]
            args = tuple(word for unit in units(args) if unit not in refused for word in unit)
            if shown := " ".join(word for unit in refused for word in unit):
                warnings.append(
                    f"isagen: {config.shown}: kernels.{key!r}.args: {shown} is left out: {compiler.name} refuses it"
                )
        entries[key] = replace(entry, args=args if entry.args is not None else None)
    return replace(config, kernels=entries), warnings


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
