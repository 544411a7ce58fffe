"""Audits as text for people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Sequence

from ..binary.mangling import demangle
from ..model.printable import CONTROLS
from .data import readable, summaries
from .findings import UNDECODABLE, Finding, Result

# Without `every`, at most so many findings of one kind and cause are shown, and so many names of code outside levels.
SHOWN = 5
# Without `every`, the FIRST_STEPS first and LAST_STEPS last functions of a chain of more than LONGEST_CHAIN are shown.
FIRST_STEPS, LAST_STEPS, LONGEST_CHAIN = 3, 2, 6


def text_of(result: Result, *, every: bool = False, counted: bool = False) -> str:
    """Return one file's audit as text.

    `every` lifts the limits above, and `counted` names the functions that are not judged.
    """
    return _text(_target(result, every, counted))


def summary_text(results: Sequence[Result], fail_on: Container[str] | None = None) -> str:
    """Return a line for each target."""
    return _text(summary.line() for summary in summaries(results, fail_on))


def _text(lines: Iterable[str]) -> str:
    return "".join(f"{readable(line).translate(CONTROLS)}\n" for line in lines)


def _target(result: Result, every: bool, named: bool) -> Iterator[str]:
    yield f"{result.target}: {result.judged}"
    groups: dict[tuple[str, str], list[Finding]] = {}
    for finding in result.findings:
        groups.setdefault((finding.kind, finding.cause), []).append(finding)
    for (kind, _), findings in groups.items():
        alike = [[finding] for finding in findings] if every else _alike(findings)
        shown = alike if every else alike[:SHOWN]
        yield f"  {'unproven: ' if kind == 'unproven' else ''}{findings[0].meaning} ({_how_many(kind, findings)})"
        for first, *others in shown:
            yield from (f"    {line}" for line in _finding(first, every))
            if others:
                yield f"      also at   {' '.join(finding.level for finding in others)}"
        if len(alike) > len(shown):
            yield f"    ... and {sum(map(len, alike[SHOWN:]))} more: --all shows them"
        yield f"    remedy: {findings[0].remedy}"
    if not result.findings and result.decoded and not result.empty:
        yield "  nothing found" + (" but what is allowed" if result.excused else "")
    counted = {feature: len(names) for feature, names in result.counted.items()}
    undecodable = counted.pop(UNDECODABLE, 0)
    if counted:
        counts = ", ".join(
            f"{feature} {count}" for feature, count in sorted(counted.items(), key=lambda item: (-item[1], item[0]))
        )
        hint = "" if named else " (--list-counted names them)"
        yield f"  functions that need more than the baseline, not judged, as their checks are unknown: {counts}{hint}"
    for feature, names in result.counted.items() if named else ():
        yield f"  {feature}: {', '.join(map(demangle, names))}"
    if undecodable:
        yield f"  functions with bytes that are not known instructions (data, or newer than the decoder): {undecodable}"
    for symbol, reason, number in result.allowed:
        count = f"{number} function{'s' * (number != 1)}" if number else "none in the file; remove the entry"
        yield f"  allowed by isa.toml: {symbol} ({count}): {reason}"
    for entry, excused in result.excused:
        count = f"{len(excused):,} finding{'s' * (len(excused) != 1)}"
        yield f"  allowed by {entry.path}: {entry.shown} ({count}): {entry.reason}"
    if result.outside:
        names = [demangle(name) for name in (result.outside if every else result.outside[:SHOWN])]
        rest = len(result.outside) - len(names)
        more = f" and {rest} more (--all shows them)" if rest else ""
        yield f"  code outside levels that levels refer to, one copy for all levels: {', '.join(names)}{more}"
    for note in result.notes:
        yield f"  {note}"


def _alike(findings: Iterable[Finding]) -> list[list[Finding]]:
    """Group findings that say the same of one variable of a kernel at several levels; others are groups of one."""
    groups: dict[object, list[Finding]] = {}
    for finding in findings:
        is_of_levels = finding.variable and finding.kernel and finding.level
        key = (finding.kernel, finding.variable, finding.detail) if is_of_levels else finding
        groups.setdefault(key, []).append(finding)
    return list(groups.values())


def _how_many(kind: str, findings: Sequence[Finding]) -> str:
    counts = Counter(finding.detail for finding in findings) if kind == "bindable" else Counter()
    return ", ".join(f"{count} {detail}" for detail, count in counts.items()) or str(len(findings))


def _finding(finding: Finding, every: bool) -> Iterator[str]:
    where = f" at {finding.level}" if finding.level else ""
    what = finding.kernel or finding.object
    yield f"{demangle(finding.symbol) or 'levels'}{where}" + (f", in {what}" if what else "")
    if demangle(finding.symbol) != finding.symbol:
        yield f"  symbol    {finding.symbol}"
    if finding.kernel and finding.object:
        yield f"  object    {finding.object}"
    if finding.features:
        yield f"  needs     {' '.join(finding.features)}"
    if finding.instruction:
        yield f"  first     {finding.instruction}   at {finding.address:#x}"
    if finding.variable:
        yield f"  variable  {demangle(finding.variable)}"
    if len(finding.path) > 1:
        yield f"  reached   {' -> '.join(_steps(finding.path, every))}"
    if finding.detail:
        yield f"  why       {finding.detail}"


def _steps(path: Sequence[str], every: bool) -> list[str]:
    names = [demangle(step) for step in path]
    if every or len(names) <= LONGEST_CHAIN:
        return names
    more = len(names) - FIRST_STEPS - LAST_STEPS
    return [*names[:FIRST_STEPS], f"... {more} more ...", *names[-LAST_STEPS:]]
