"""Finds baseline features that some CPUs lack, and features that a level's flags turn on beyond the table's."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..model.matrix import LevelRow
from ..model.plan import BUILT, Build
from .features import features_of
from .instructions import normal_name

# CPU_OPTION: options that name a CPU or an architecture. MACHINE_OPTION: all -m options that may turn features on.
CPU_OPTION = re.compile(r"-m(arch|cpu)=")
MACHINE_OPTION = re.compile(r"-m(?!tune=|no-|\d)")
DEFAULT = "the default of "
OWN_CPU = (
    "a compiler that builds for the CPU of this machine by default, such as zig, builds for others with -mcpu=baseline "
    "or -march= in CFLAGS and CXXFLAGS"
)


def beyond_architecture(build: Build) -> tuple[str, ...]:
    """Return the features of the baseline that are not known to be in every CPU that runs the build's system."""
    features = features_of(build.record.features)
    always = {
        *map(normal_name, features.instructions.always),
        *features.having(features.every_cpu.get(build.system, ())),
    }
    return tuple(name for name in build.record.baseline if always.isdisjoint((name, normal_name(name))))


def baseline_origin(build: Build) -> str:
    """Return where the baseline's features are from: options in commands or arguments, or the compilers' defaults."""
    origins: dict[str, list[str]] = {}
    for language, compiler in build.compilers.items():
        for origin, words in ((f"{language} compiler", compiler.command[1:]), (f"{language}_args", compiler.args)):
            options = " ".join(filter(MACHINE_OPTION.match, words))
            if options:
                origins.setdefault(options, []).append(origin)
    if origins:
        return "; ".join(f"{' and '.join(places)}: {options}" for options, places in origins.items())
    return " and ".join(dict.fromkeys(f"{DEFAULT}{compiler.name}" for compiler in build.compilers.values()))


def baseline_warnings(build: Build) -> Iterator[str]:
    """Yield a warning for Meson if the baseline needs features that not every CPU of the architecture has."""
    features = beyond_architecture(build)
    if features:
        origin = baseline_origin(build)
        yield (
            f"isagen: every user's CPU must have {' '.join(features)}, which the baseline may use ({origin})"
            + (f"; {OWN_CPU}" if origin.startswith(DEFAULT) else "")
        )


def additions_text(level: LevelRow) -> str:
    """Return a clause with the flags of a level and the features that they turn on beyond the table's; "" if none."""
    if level.verdict != BUILT or not level.added:
        return ""
    flags = tuple(dict.fromkeys(flag for flags in level.flags.values() for flag in flags))
    named = [flag for flag in flags if CPU_OPTION.match(flag)] or flags
    return f"{' '.join(named)} also turns on {' '.join(level.added)}"


def additions_warnings(build: Build) -> Iterator[str]:
    """Yield a warning for Meson for each level that needs features which the table does not list."""
    for level in build.plan.levels:
        additions = additions_text(level)
        if additions:
            yield (
                f"isagen: {level.name}: {additions}: a CPU without one of these runs a lower level; list them in the "
                "level's features in the table, or turn them off in its flags (-mno-NAME)"
            )
