"""Audits as text for people and as data for programs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from typing import Any

from .demangle import demangle
from .findings import KINDS, UNDECODABLE, Finding, Result

REPORT_FORMAT = 1
SHOWN = 5  # findings of one kind that are shown in full


def found_any(results: Iterable[Result]) -> bool:
    """Return whether any of the audits found a fault."""
    return any(result.findings for result in results)


def as_data(results: Sequence[Result]) -> dict[str, Any]:
    """Return audits as plain data; names in it are the linker's, with `name` beside as C++ writes it."""
    data: dict[str, Any] = _readable(_data(results))
    return data


def _readable(data: Any) -> Any:
    """Return plain data with text that is valid Unicode: bytes of names that are not UTF-8 are escaped."""
    if isinstance(data, str):
        return data.encode(errors="surrogateescape").decode(errors="backslashreplace")
    if isinstance(data, dict):
        return {key: _readable(value) for key, value in data.items()}
    return [_readable(item) for item in data] if isinstance(data, (list, tuple)) else data


def _data(results: Sequence[Result]) -> dict[str, Any]:
    return {
        "format": REPORT_FORMAT,
        "clean": not found_any(results) and not any(result.problem for result in results),
        "targets": [
            {
                "target": result.target,
                "judged": result.judged,
                "decoded": result.decoded,
                "problem": str(result.problem or ""),
                "findings": [
                    {**asdict(f), "name": demangle(f.symbol), "meaning": f.meaning, "remedy": f.remedy}
                    for f in result.findings
                ],
                "counted": dict(result.counted or {}),
                "allowed": [{"symbol": s, "reason": r, "functions": n} for s, r, n in result.allowed],
                "unused": [{"symbol": s, "reason": r} for s, r in result.unused],
                "notes": list(result.notes),
            }
            for result in results
        ],
    }


def as_text(results: Sequence[Result], *, every: bool = False) -> str:
    """Return audits as text; `every` shows all findings, else the first few of each kind."""
    lines = [line for result in results for line in _target(result, every)]
    total = sum(len(result.findings) for result in results)
    if len(results) > 1:
        clean = sum(not result.findings and result.decoded for result in results)
        skipped = sum(not result.decoded for result in results)
        line = f"{len(results)} files: {clean} without a finding, {total} finding{'s' * (total != 1)} in the others"
        lines.append(line + (f"; {skipped} not decoded" if skipped else ""))
    text: str = _readable("\n".join(lines) + "\n")
    return text


def _target(result: Result, every: bool) -> Iterator[str]:
    yield f"{result.target}: {result.judged}"
    for kind in KINDS:
        findings = [finding for finding in result.findings if finding.kind == kind]
        if not findings:
            continue
        yield f"  {KINDS[kind][0]} ({_how_many(kind, findings)})"
        for finding in findings if every else findings[:SHOWN]:
            yield from (f"    {line}" for line in _finding(finding))
        if len(findings) > SHOWN and not every:
            yield f"    ... and {len(findings) - SHOWN} more: --all shows them"
        yield f"    remedy: {KINDS[kind][1]}"
    if not result.findings and result.decoded:
        yield "  nothing found"
    counted = dict(result.counted or {})
    undecodable = counted.pop(UNDECODABLE, 0)
    if counted:
        counts = ", ".join(f"{name} {count}" for name, count in sorted(counted.items(), key=_by_count))
        yield f"  functions beyond that, presumably behind a check of the CPU: {counts}"
    if undecodable:
        yield f"  functions with bytes that are no known instruction, data or newer than the decoder: {undecodable}"
    for symbol, reason, number in result.allowed:
        yield f"  allowed by isa.toml: {symbol} ({number} function{'s' * (number != 1)}): {reason}"
    for symbol, reason in result.unused:
        yield f"  allowed by isa.toml, but not there: {symbol} ({reason}); take the entry out"
    for note in result.notes:
        yield f"  {note}"


def _how_many(kind: str, findings: Sequence[Finding]) -> str:
    counts = Counter(finding.detail for finding in findings) if kind == "bindable" else Counter()
    return ", ".join(f"{count} {detail}" for detail, count in counts.items()) or str(len(findings))


def _by_count(item: tuple[str, int]) -> tuple[int, str]:
    return -item[1], item[0]


def _finding(finding: Finding) -> Iterator[str]:
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
        yield f"  reached   {' -> '.join(demangle(step) for step in finding.path)}"
    if finding.detail:
        yield f"  why       {finding.detail}"
