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
from ..model.plan import LinkAudit
from ..model.record import Record
from .compiled import Compiled

STATIC = "make the variable constexpr, or a static variable of the function that uses it: then it is set after dispatch"
# A kernel source and its object.
Item = tuple[str, Compiled]


def check_at_load(
    record: Record,
    audit: LinkAudit,
    level: str,
    items: Sequence[Item],
    private: Collection[str],
    lower: Collection[str],
) -> None:
    """Raise `BuildError` for the first fault, or print all faults if the mode of `audit` is warn.

    `record` is the record of the build, and `audit` the audit of its links. `private` are the private names of the
    level, and `lower` the names that the level takes from lower ones. Levels that need only the baseline's features are
    not checked. Without a decoder for the code, a warning names each kernel source that is not checked.
    """
    numbers = [number for number, (_, compiled) in enumerate(items) if compiled.runs_at_load]
    if audit.mode == "off" or not numbers:
        return
    with ExitStack() as stack:
        for finding in _findings(record, audit, level, items, numbers, private, lower, stack):
            problem = _problem(finding)
            if audit.mode != "warn":
                raise problem
            print(f"isagen: warning: {problem}", file=sys.stderr)


def _findings(
    record: Record,
    audit: LinkAudit,
    level: str,
    items: Sequence[Item],
    numbers: Sequence[int],
    private: Collection[str],
    lower: Collection[str],
    stack: ExitStack,
) -> Sequence[Finding]:
    """Return the faults in the `items` with these `numbers`. The `stack` closes the objects that are opened here."""
    from ..audit.allowances import Allowances
    from ..audit.initialisers import Initialisers, LevelObject
    from ..audit.recorded import sets_of
    from ..audit.subject import Subject

    if record.needs_only_baseline(level):
        return ()  # any code may call code of the baseline
    first = stack.enter_context(open_binary(items[numbers[0]][1].path))
    try:
        sets = sets_of(first, record)
    except AuditError as problem:
        for number in numbers:
            _warn(items[number][0], problem.message)
        return ()
    allowances = Allowances(record.allow)

    def opened(compiled: Compiled) -> Subject:
        binary = stack.enter_context(open_binary(compiled.path))
        return Subject(binary, sets, frozenset(record.outside), allowances, levels=record.levels, level=level)

    objects = [LevelObject(source, partial(opened, compiled)) for source, compiled in items]
    defined = {
        symbol.name: number
        for number, (_, compiled) in enumerate(items)
        for symbol in compiled.symbols
        if symbol.defined
    }
    return Initialisers(level, objects, defined, private, lower, audit.active).findings(numbers)


@cache
def _warn(source: str, problem: str) -> None:
    """Warn once that nothing checks what the copies of a kernel run at load or exit."""
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
        remedy += "; or allow what is used, with the reason why it stores no address: [[audit.allow]] in isa.toml"
    where = demangle(finding.variable or finding.symbol)
    return BuildError(f"{finding.kernel} at {finding.level}: {what}", where=where, remedy=remedy)
