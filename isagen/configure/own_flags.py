"""The check of compiler arguments in isa.toml, whose errors name the key.

The guard headers repeat the check of features when copies are compiled. If only the lowest level is built, arguments
that the compiler refuses are left out, because they are meant for the levels of another architecture.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from ..model.errors import ConfigError
from ..model.languages import language_of
from ..model.plan import BUILT, Limit, Plan
from ..planning.config import Config
from ..planning.kernels import matches, settings_of
from ..probe.compiler import Compiler, first_error
from ..processors.features import Features
from ..processors.flags import units

# The errors of GCC and Clang for an unknown option.
UNKNOWN = re.compile(
    r"unrecognized command-line option|unknown argument|unrecognized argument|unsupported option", re.I
)


def without_refused_args(
    config: Config, kernels: Iterable[str], compilers: Iterable[Compiler], limit: Limit
) -> tuple[Config, list[str]]:
    """Return the configuration without arguments that a compiler of `kernels` refuses, and warnings that name these.

    Arguments are left out only if the build has a `limit`.
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
    """Raise `ConfigError` for arguments in isa.toml that a compiler does not know, or that turn on a feature that the
    copy's level does not check.
    """
    by_language = {compiler.language: compiler for compiler in compilers if compiler.dialect != "msvc"}
    checked = {level.name: level.features for level in plan.levels}
    for kernel in plan.kernels:
        if not kernel.args or kernel.language not in by_language:
            continue
        compiler, where = by_language[kernel.language], settings_of(kernel.source, config).keys["args"]
        built = [cell for cell in kernel.cells if cell.verdict == BUILT]
        has_machine_options = any(arg.startswith("-m") for arg in kernel.args)
        for cell in built if has_machine_options else built[:1]:
            macros, outcome = compiler.macros(cell.flags)
            if not outcome.ok and UNKNOWN.search(outcome.err):
                raise ConfigError(
                    f"{compiler.name} does not know an argument: {first_error(outcome.err)}",
                    where=where,
                    remedy="take it out, or correct it",
                )
            unchecked = [name for name in features.turned_on(macros) if name not in checked[cell.level]]
            if unchecked:
                raise ConfigError(
                    f"{' '.join(kernel.args)}: {unchecked[-1]} is on, but not checked for {cell.level}: a CPU without "
                    "it would run this copy",
                    where=where,
                    remedy="take it out: each level brings the flags of its features; a table of your own may add a "
                    "level",
                )
