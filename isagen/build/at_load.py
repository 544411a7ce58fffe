"""Judging what the objects of a level do at load or exit, when they are sealed (`audit.initialisers`)."""

from __future__ import annotations

import sys
from collections.abc import Collection, Sequence
from contextlib import ExitStack
from functools import partial

from ..audit.findings import Finding
from ..model.errors import AuditError, BuildError
from ..model.record import Record
from .compiled import Compiled

# A kernel source and its object.
Item = tuple[str, Compiled]


def check_at_load(record: Record, mode: str, level: str, items: Sequence[Item], private: Collection[str]) -> None:
    """Raise `BuildError` for the first fault, or report faults where `mode` is warn.

    `record` is the build's, and `private` are the names that no other level may use. Nothing is
    judged of a level that needs no more than the baseline, where the processor's code is not decoded, or where no
    object runs anything at load or exit.
    """
    run = [number for number, (_, file) in enumerate(items) if file.runs_at_load]
    if mode == "off" or not run:
        return
    with ExitStack() as stack:
        for finding in _findings(record, level, items, run, private, stack):
            problem = BuildError(
                f"{finding.kernel} at {level}: {_shown(finding)}", where=_variable(finding), remedy=_remedy(finding)
            )
            if mode != "warn":
                raise problem
            print(f"isagen: warning: {problem}", file=sys.stderr)


def _findings(
    known: Record, level: str, items: Sequence[Item], run: Sequence[int], private: Collection[str], stack: ExitStack
) -> Sequence[Finding]:
    from ..audit.allowances import Allowances
    from ..audit.initialisers import Initialisers, Member
    from ..audit.recorded import sets_of
    from ..audit.subject import Subject
    from ..binary.formats import open_binary
    from ..processors.registry import is_decoded

    if known.levels.keys() >= {level} and set(known.levels[level]).issubset(known.outside):
        return ()  # code of the baseline may be called from anywhere
    first = stack.enter_context(open_binary(items[run[0]][1].path))
    if first.architecture is None or not is_decoded(first.architecture):
        return ()
    try:
        sets = sets_of(first, known)
    except AuditError:  # the decoder is not installed: the summary says that nothing is audited
        return ()
    allowances = Allowances(known.allow)

    def opened(file: Compiled) -> Subject:
        binary = stack.enter_context(open_binary(file.path))
        return Subject(binary, sets, frozenset(known.outside), allowances, levels=known.levels, level=level)

    members = [Member(source, partial(opened, file)) for source, file in items]
    defined = {one.name: number for number, (_, file) in enumerate(items) for one in file.symbols if one.defined}
    return Initialisers(level, members, defined, private).findings(run)


def _variable(finding: Finding) -> str:
    from ..binary.formats import demangle

    return demangle(finding.variable or finding.symbol)


def _shown(finding: Finding) -> str:
    if finding.kind == "address":
        return f"what initialises it {finding.detail}"
    from ..binary.formats import demangle

    needs = " ".join(finding.features)
    return f"{demangle(finding.symbol)} {finding.detail}, but needs {needs} ({finding.instruction})"


def _remedy(finding: Finding) -> str:
    own = (
        "make the variable constexpr, or a static variable of the function that uses it: then it is set after dispatch"
    )
    if finding.kind == "address":
        return f"{own}; or allow what is used, with the reason why it keeps no address: [[audit.allow]] in isa.toml"
    return own
