"""The compiler arguments that isa.toml gives single kernels, where a build has its lowest level alone.

They are written for the levels, and another architecture's compiler may refuse them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ..model.plan import Limit
from ..planning.config import Config
from ..planning.plan import language_of
from ..probe.compiler import Compiler
from ..processors.flags import units


def without_refused(config: Config, compilers: Iterable[Compiler], limit: Limit) -> tuple[Config, list[str]]:
    """Return the configuration without arguments that the compiler refuses, and what Meson shall warn of.

    Where all levels are built, it stays as it is.
    """
    by_language = {compiler.language: compiler for compiler in compilers}
    kernels, warnings = dict(config.kernels), []
    for source, kernel in config.kernels.items() if limit.reason else ():
        compiler = by_language.get(language_of(source))
        if compiler is None or not kernel.args or compiler.compiles(kernel.args):
            continue
        refused = [unit for unit in units(kernel.args) if not compiler.compiles(unit)]
        kept = tuple(word for unit in units(kernel.args) if unit not in refused for word in unit)
        kernels[source] = replace(kernel, args=kept)
        shown = " ".join(word for unit in refused for word in unit)
        if shown:
            warnings.append(
                f"isagen: {config.shown}: kernels.{source!r}.args: {shown} is left out: {compiler.name} refuses it"
            )
    return replace(config, kernels=kernels), warnings
