"""The compiler arguments that isa.toml gives single kernels, where a build has its lowest level alone.

They are written for the levels, and another architecture's compiler may refuse them.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..model.frozen import replace
from ..model.languages import language_of
from ..model.plan import Limit
from ..planning.config import Config
from ..planning.kernel_settings import matches
from ..probe.compiler import Compiler
from ..processors.flags import units


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
