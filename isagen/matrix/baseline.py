"""Features that CPUs must have although nothing names them: of a baseline beyond its architecture, of levels beyond
their table."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..model.plan import BUILT, Build, LevelRow
from ..processors.features import features_of
from ..processors.instructions import normal

# Options that choose a CPU, and with it features.
CPU_OPTION = re.compile(r"-m(arch|cpu)=")
DEFAULT = "the default of "
OWN_CPU = (
    "a compiler that builds for the CPU of this machine by default, such as zig, builds for others with -mcpu=baseline "
    "or -march= in CFLAGS and CXXFLAGS"
)


def beyond_architecture(build: Build) -> tuple[str, ...]:
    """Return the features of the baseline that not every CPU of the architecture has."""
    always = {normal(name) for name in features_of(build.record.features).instructions.always}
    return tuple(name for name in build.record.baseline if normal(name) not in always)


def baseline_origin(build: Build) -> str:
    """Return where these features come from: options that the compilers are called with, or the compilers' default."""
    said: dict[str, list[str]] = {}
    for language, compiler in build.compilers.items():
        for place, words in (("command", compiler.command[1:]), (f"{language}_args", compiler.args)):
            options = " ".join(word for word in words if _chooses(word, build))
            if options:
                said.setdefault(options, []).append(f"{language} compiler" if place == "command" else place)
    if said:
        return "; ".join(f"{' and '.join(places)}: {options}" for options, places in said.items())
    return " and ".join(dict.fromkeys(f"{DEFAULT}{compiler.name}" for compiler in build.compilers.values()))


def baseline_warnings(build: Build) -> Iterator[str]:
    """Yield warnings for Meson: a baseline that old CPUs do not have."""
    features = beyond_architecture(build)
    if features:
        origin = baseline_origin(build)
        yield (
            f"isagen: every user's CPU must have {' '.join(features)}, which the baseline may use ({origin})"
            + (f"; {OWN_CPU}" if origin.startswith(DEFAULT) else "")
        )


def additions_text(level: LevelRow) -> str:
    """Return what the flags of a level turn on that no table lists, and the flags; "" where there is nothing."""
    if level.verdict != BUILT or not level.added:
        return ""
    flags = tuple(dict.fromkeys(flag for flags in level.flags.values() for flag in flags))
    named = [flag for flag in flags if CPU_OPTION.match(flag)] or flags
    return f"{' '.join(named)} also turns on {' '.join(level.added)}"


def additions_warnings(build: Build) -> Iterator[str]:
    """Yield warnings for Meson: levels that need features which the table does not list."""
    for level in build.plan.levels:
        said = additions_text(level)
        if said:
            yield (
                f"isagen: {level.name}: {said}: a CPU without one of these runs a lower level; list them in the "
                "level's features in the table, or turn them off in its flags (-mno-NAME)"
            )


def _chooses(word: str, build: Build) -> bool:
    """Return whether a compiler option turns on features of the baseline by a CPU's name or by their own."""
    if CPU_OPTION.match(word):
        return True
    features = features_of(build.record.features).features
    found = [features[name] for name in beyond_architecture(build) if name in features]
    names = {
        normal(name)
        for one in found
        for name in (one.name, *(macro.partition("=")[0].strip("_") for macro in one.macros))
    }
    return word.startswith("-m") and normal(word[2:].replace(".", "_").replace("-", "_")) in names
