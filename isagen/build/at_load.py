"""Checks the code that a level's objects run at load or exit (`audit.initialisers`), before the level is sealed."""

from __future__ import annotations

import sys
from collections.abc import Collection, Sequence
from contextlib import ExitStack
from functools import cache, partial

from ..audit.findings import Finding
from ..binary.formats import open_binary
from ..binary.mangling import demangle
from ..model.errors import AuditError, BuildError
from ..model.plan import Build
from .compiled import Compiled

STATIC = "make the variable constexpr, or a static variable of the function that uses it: then it is set after dispatch"


def check_at_load(
    build: Build, level: str, items: Sequence[tuple[str, Compiled]], private: Collection[str], lower: Collection[str]
) -> None:
    """Raise `BuildError` for the first fault of a level, or print all faults if the build's audit only warns.

    `items` are (kernel source, object); `lower` are the names that the level takes from lower levels. Nothing is
    checked if the level needs only features of the baseline: every CPU that runs the program can run such a level's
    code. Without a decoder for the code, a warning names each kernel source that is not checked.
    """
    record, audit = build.record, build.link_audit
    numbers = [number for number, (_, compiled) in enumerate(items) if compiled.runs_at_load]
    if audit.mode == "off" or not numbers or record.needs_only_baseline(level):
        return
    from ..audit.binaries import subject_of
    from ..audit.initialisers import Initialisers, LevelObject
    from ..audit.subject import Subject

    with ExitStack() as stack:

        def opened(compiled: Compiled) -> Subject:
            return subject_of(stack.enter_context(open_binary(compiled.path)), record, level=level)

        objects = [LevelObject(source, partial(opened, compiled)) for source, compiled in items]
        symbols = ((number, symbol) for number, (_, compiled) in enumerate(items) for symbol in compiled.symbols)
        defined = {symbol.name: number for number, symbol in symbols if symbol.defined}
        try:
            findings = Initialisers(level, objects, defined, private, lower, audit.active).findings(numbers)
        except AuditError as problem:
            for number in numbers:
                _warn(items[number][0], problem.message)
            return
        for finding in findings:
            if audit.mode != "warn":
                raise _problem(finding)
            print(f"isagen: warning: {_problem(finding)}", file=sys.stderr)


@cache
def _warn(source: str, problem: str) -> None:
    print(
        f"isagen: warning: {source}: its copies run code when the program is loaded, before a level is selected, and "
        f"nothing checks whether every CPU has the instructions: {problem}\n  {STATIC}",
        file=sys.stderr,
    )


def _problem(finding: Finding) -> BuildError:
    needs, remedy = " ".join(finding.features), STATIC
    what = f"{demangle(finding.symbol)} {finding.detail}, but needs {needs} ({finding.instruction})"
    if finding.kind == "address":
        what = f"what initialises it {finding.detail}"
        remedy += "; or allow what is named here, if it stores no address: [[audit.allow]] in isa.toml"
    where = demangle(finding.variable or finding.symbol)
    return BuildError(f"{finding.kernel} at {finding.level}: {what}", where=where, remedy=remedy)
