"""Probes one level with a compiler: whether the compiler can build the level, and which features its flags turn on.

A probe compiles, assembles and links a program as the build does: with the project's arguments and, except in the link,
with the level's flags. Warnings of the compiler are errors. The program uses the results of its intrinsics, so that no
compiler leaves these out. It is never run.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from ..model.plan import Verdict
from ..model.versions import older
from ..processors.flags import compiler_family
from ..processors.known_broken import LEAVE_OUT
from ..processors.table import Level, Table
from .compiler import Compiler, Outcome, first_error

# A probe of these words alone includes no header: parsing the headers of intrinsics takes most of a probe's time.
OWN_WORDS = {"return", "argc", "argv"}


def verdict_without_run(table: Table, level: Level, compiler: Compiler) -> Verdict | None:
    """Return the verdict on a level if it is known without a run of the compiler with the level's flags, else None."""
    minimum = level.minimum.get(compiler_family(compiler.id))
    if minimum and older(compiler.version, minimum):
        return Verdict(False, f"{compiler.name} is older than {minimum}")
    if compiler.language == "fortran" and not compiler.baseline_macros:
        reason = f"{compiler.name} compiles Fortran alone, so isagen cannot see what the flags of {level.name} turn on"
        return Verdict(level.name == table.lowest.name and not level.flags.get("gnu"), reason)
    required = table.required_features(level.name)
    for bug in table.features.known_broken:
        identity = compiler_family(compiler.id), compiler.version, compiler.baseline_macros
        if bug.effect == LEAVE_OUT and bug.concerns(*identity, required):
            return Verdict(False, f"{compiler.name} is known to be broken: {bug.text}")
    if "gnu" not in level.flags:
        return Verdict(False, f"the table has no gnu flags for {level.name}")
    return None


def check_flags(table: Table, level: Level, compiler: Compiler) -> Verdict:
    """Return the verdict on a level by its flags and the macros under them; `build_probe` then builds the program."""
    flags, dropped = _usable_flags(table, level, compiler)
    macros, reason = compiler.baseline_macros, ""
    if flags:
        macros, outcome = compiler.macros(flags)
        reason = "" if outcome.ok else _failure(outcome)
    if reason := reason or _wrong_macros(table, level, compiler, flags, macros):
        return Verdict(False, reason, flags, dropped)
    needed = table.features.with_needs({*table.features.turned_on(macros), *table.required_features(level.name)})
    unreported = table.features.unreported(compiler.baseline_macros)
    if absent := sorted(unreported.intersection(needed).difference(table.features.turned_on(compiler.baseline_macros))):
        reason = f"the system does not report {', '.join(absent)}, so that no CPU can be checked for it"
        return Verdict(False, reason, flags, dropped)
    return Verdict(True, f"probed with {compiler.name}", flags, dropped, needed)


def build_probe(table: Table, level: Level, provisional: Verdict, compiler: Compiler) -> Verdict:
    """Return the final verdict on a level: the `provisional` one, or unavailable if its program fails to build."""
    outcome = compiler.build(probe_text(table, [level]), provisional.flags)
    return provisional if outcome.ok else replace(provisional, available=False, reason=_failure(outcome), features=())


def probe_text(table: Table, levels: Iterable[Level]) -> str:
    """Return the program that probes `levels`."""
    levels = tuple(levels)
    words = {word for level in levels for word in re.findall(r"\b[A-Za-z_]\w*", level.probe)}
    prologue = "" if words <= OWN_WORDS else f"{table.prologue}\n"
    parts = [_function(f"static int isa_probe_{level.name}", level.probe) for level in levels]
    calls = " + ".join(f"isa_probe_{level.name}(argc, argv)" for level in levels)
    return "".join([prologue, *parts, _function("int main", f"return {calls};")])


def _function(name: str, body: str) -> str:
    return f"{name}(int argc, char **argv)\n{{\n(void)argv;\n{body.strip()}\n}}\n"


def _usable_flags(
    table: Table, level: Level, compiler: Compiler
) -> tuple[tuple[str, ...], tuple[tuple[str, str], ...]]:
    """Return the level's flags with the accepted optional flags, and (flag, reason) of each rejected optional flag."""
    flags = compiler.spelled(table.features.processor.level_flags(level.flags["gnu"], compiler.args))
    optional = compiler.spelled(level.optional_flags.get("gnu", ()))
    if not optional or compiler.accepts((*flags, *optional)).ok:
        return (*flags, *optional), ()
    if not compiler.accepts(flags).ok:  # no optional flag can be tried
        return flags, ()
    dropped = []
    for flag in optional:
        outcome = compiler.accepts((*flags, flag))
        if outcome.ok:
            flags = (*flags, flag)
        else:
            dropped.append((flag, first_error(outcome.err)))
    return flags, tuple(dropped)


def _wrong_macros(
    table: Table, level: Level, compiler: Compiler, flags: Sequence[str], macros: Mapping[str, str]
) -> str:
    """Return why the `macros` under a level's flags do not fit the level's features, "" if they do."""
    features = table.features
    if unknown := features.unknown(macros, compiler.baseline_macros):
        place = table.files[0].name if table.files else f"a table of your own that extends {table.name}"
        return (
            f"its flags turn on {', '.join(unknown)}, which no feature names, so that no CPU could be checked for it; "
            f"in {place}, add a feature with this macro to [extra_features] if it stands for instructions that kernels "
            "may contain, otherwise add it to ignored_macros"
        )
    for name in level.features:
        names = features.features[name].macros
        if names and not features.features[name].is_on(macros):
            undefined = f"{names[0]} is not defined under {' '.join(flags)}"
            return f"its flags do not turn on {name} ({undefined}), or {compiler.name} has no macro for it"
    return ""


def _failure(outcome: Outcome) -> str:
    text = outcome.err or outcome.out
    if "Assembler messages:" in text:
        line = next((x for x in text.splitlines() if "Error:" in x), "").split("Error:", 1)[-1].strip()
        return f"the assembler rejects it: {line}"
    if re.search(r"collect2: error|ld returned|linker command failed", text):
        cause = re.search(r"undefined (reference|symbol).*|cannot find .*|unrecognized option .*", text)
        return f"it does not link: {cause[0] if cause else first_error(text)}"
    return first_error(text) or "the compiler failed without a message"
