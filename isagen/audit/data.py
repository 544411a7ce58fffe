"""Audits as data for programs; docs/audit.schema.json describes it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from .. import __version__
from ..binary.mangling import demangle
from .allowances import AllowFiles
from .findings import CAUSES, KINDS, Entry, Finding, Result, fails
from .summary import summaries

REPORT_FORMAT = 3


def as_data(
    results: Sequence[Result],
    fail_on: Collection[str] | None = None,
    allow_files: AllowFiles | None = None,
    *,
    brief: bool = False,
    counted: bool = False,
) -> dict[str, Any]:
    """Return audits as plain data; with `brief`, without the results of each file.

    With `counted`, functions that are not judged are named. `fail_on` are kinds of findings; None means the default of
    `findings.fails`. The `symbol` of a finding is the linker's name, and `name` is the C++ name, if it differs. Empty
    values of findings are left out.
    """
    allow_files = allow_files or AllowFiles()
    data: dict[str, Any] = {
        "format": REPORT_FORMAT,
        "isagen": __version__,
        "clean": not any(result.findings or result.problem for result in results),
        "failed": any(fails(result, fail_on) for result in results),
        "fail_on": [kind for kind in KINDS if kind in fail_on] if fail_on is not None else "default",
        "kinds": {kind: {"meaning": meaning, "remedy": remedy} for kind, (meaning, remedy) in KINDS.items()},
        "causes": {cause: {"meaning": meaning, "remedy": remedy} for cause, (meaning, remedy) in CAUSES.items()},
        "allow": [
            {**asdict(entry), "files": allow_files.files[entry], "findings": allow_files.used[entry]}
            for entry in allow_files.entries
        ],
        "summary": list(map(asdict, summaries(results, fail_on))),
    }
    if not brief:
        numbers = {entry: number for number, entry in enumerate(allow_files.entries)}
        data["targets"] = [_target(result, numbers, counted) for result in results]
    return readable(data)  # type: ignore[no-any-return]


def _target(result: Result, numbers: Mapping[Entry, int], counted: bool) -> dict[str, Any]:
    data = {
        "target": result.target,
        "group": result.group,
        "judged": result.judged,
        "decoded": result.decoded,
        "empty": result.empty,
        "problem": str(result.problem or ""),
        "findings": [_finding(finding) for finding in result.findings],
        "counted": {feature: len(names) for feature, names in result.counted.items()},
        "allowed": [{"symbol": s, "reason": r, "functions": n} for s, r, n in result.allowed if n],
        "unused": [{"symbol": s, "reason": r} for s, r, n in result.allowed if not n],
        "outside": result.outside,
        "notes": result.notes,
        "excused": [
            {"entry": numbers[entry], "findings": [{"kind": f.kind, "symbol": f.symbol} for f in findings]}
            for entry, findings in result.excused
        ],
    }
    return data | ({"counted_names": result.counted} if counted else {})


def _finding(finding: Finding) -> dict[str, Any]:
    needed = {"kind", "symbol"} | ({"address"} if finding.instruction else set())  # 0 is an address in objects
    data = {key: value for key, value in asdict(finding).items() if value or key in needed}
    name = demangle(finding.symbol)
    return data | ({"name": name} if name != finding.symbol else {})


def readable(data: Any) -> Any:
    """Return plain data whose text is valid Unicode: bytes that are not UTF-8 are escaped."""
    if isinstance(data, str):
        return data.encode(errors="surrogateescape").decode(errors="backslashreplace")
    if isinstance(data, dict):
        return {key: readable(value) for key, value in data.items()}
    return [readable(item) for item in data] if isinstance(data, (list, tuple)) else data
