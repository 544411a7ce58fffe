"""Audits as data for programs (docs/audit.schema.json), and a summary of each target."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Container, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from .. import __version__
from ..binary.mangling import demangle
from .allowances import uses
from .findings import CAUSES, KINDS, UNDECODABLE, Entry, Finding, Result, fails

REPORT_FORMAT = 3
# Kinds whose number of findings a summary shows even if it is 0.
ALWAYS = ("load", "unproven")
SHOWN = 4  # the most features for which a summary shows how many functions are not judged


@dataclass(frozen=True)
class Summary:
    """The audits of the files of one target.

    - `state`: the first that applies: error (there are `problems`), fail (a finding fails the audit), skip (there are
      files, and isagen decodes none of them), ok
    - `files`: the number of files; 0 for a wheel or folder without machine code
    - `findings`: the number of findings by kind
    - `allowed`: the number of functions, variables and findings that entries allowed
    - `not_audited`: the number of files that isagen does not decode, such as archives
    - `counted`: by feature, the number of functions and ranges of code that need it and are not judged
    """

    target: str
    state: str
    files: int
    findings: Mapping[str, int]
    allowed: int
    not_audited: int
    problems: Sequence[str]
    counted: Mapping[str, int]

    def line(self) -> str:
        """Return the summary as a line."""
        return f"{self.state:5}  {self.target}: {self._outcome()}"

    def _outcome(self) -> str:
        if not self.files:
            return "no machine code"
        if len(self.problems) == self.files:
            return f"not audited: {self.problems[0]}"
        files = f"{self.files:,} file{'s' * (self.files != 1)}"
        if self.not_audited == self.files:
            return f"{files}, not audited"
        numbers = {**dict.fromkeys(ALWAYS, 0), **self.findings}
        parts = [", ".join((files, *(f"{number:,} {kind}" for kind, number in numbers.items())))]
        others = {"allowed": self.allowed, "not audited": self.not_audited, "cannot be read": len(self.problems)}
        parts += [f"{what} {number:,}" for what, number in others.items() if number]
        if self.counted:
            most = Counter(self.counted).most_common(SHOWN)
            more = f" and {len(self.counted) - SHOWN} more" if len(self.counted) > SHOWN else ""
            parts.append("not judged: " + ", ".join(f"{name} {number:,}" for name, number in most) + more)
        return "; ".join(parts)


def summaries(results: Iterable[Result], fail_on: Container[str] | None = None) -> list[Summary]:
    """Return the summaries of all targets, in the order of their first files."""
    groups: dict[str, list[Result]] = {}
    for result in results:
        groups.setdefault(result.group or result.target, []).append(result)
    return [_summary(target, group, fail_on) for target, group in groups.items()]


def _summary(target: str, results: Sequence[Result], fail_on: Container[str] | None) -> Summary:
    problems = [result.problem.message for result in results if result.problem is not None]
    files = sum(not result.empty for result in results)
    not_audited = sum(not result.decoded and result.problem is None for result in results)
    findings = Counter(finding.kind for result in results for finding in result.findings)
    counted: Counter[str] = Counter()
    for result in results:
        counted.update({feature: len(names) for feature, names in result.counted.items() if feature != UNDECODABLE})
    if problems:
        state = "error"
    elif any(fails(result, fail_on) for result in results):
        state = "fail"
    else:
        state = "skip" if files and not_audited == files else "ok"
    return Summary(
        target=target,
        state=state,
        files=files,
        findings={kind: findings[kind] for kind in KINDS if findings[kind]},
        allowed=sum(number for result in results for _, _, number in result.allowed)
        + sum(len(excused) for result in results for _, excused in result.excused),
        not_audited=not_audited,
        problems=problems,
        counted=dict(counted),
    )


def as_data(
    results: Sequence[Result],
    fail_on: Collection[str] | None = None,
    entries: Sequence[Entry] = (),
    *,
    brief: bool = False,
    counted: bool = False,
) -> dict[str, Any]:
    """Return audits as plain data; with `brief`, without the results of each file.

    With `counted`, functions that are not judged are named. `fail_on` is passed to `findings.fails` as `kinds`.
    """
    data: dict[str, Any] = {
        "format": REPORT_FORMAT,
        "isagen": __version__,
        "clean": not any(result.findings or result.problem for result in results),
        "failed": any(fails(result, fail_on) for result in results),
        "fail_on": [kind for kind in KINDS if kind in fail_on] if fail_on is not None else "default",
        "kinds": {kind: {"meaning": meaning, "remedy": remedy} for kind, (meaning, remedy) in KINDS.items()},
        "causes": {cause: {"meaning": meaning, "remedy": remedy} for cause, (meaning, remedy) in CAUSES.items()},
        "allow": [
            {**asdict(entry), "files": files, "findings": findings}
            for entry in entries
            for files, findings in [uses(entry, results)]
        ],
        "summary": list(map(asdict, summaries(results, fail_on))),
    }
    if not brief:
        numbers = {entry: number for number, entry in enumerate(entries)}
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
    needed = {"kind", "symbol"} | ({"address"} if finding.instruction else set())  # even 0, an address in objects
    data = {key: value for key, value in asdict(finding).items() if value or key in needed}
    name = demangle(finding.symbol)
    return data | ({"name": name} if name != finding.symbol else {})


def readable(data: Any) -> Any:
    """Return plain `data` with all text as valid Unicode: bytes that are not UTF-8 are escaped."""
    if isinstance(data, str):
        return data.encode(errors="surrogateescape").decode(errors="backslashreplace")
    if isinstance(data, dict):
        return {key: readable(value) for key, value in data.items()}
    return [readable(item) for item in data] if isinstance(data, (list, tuple)) else data
