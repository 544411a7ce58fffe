"""A line for each wheel, folder or file that an audit was called for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass

from .findings import KINDS, UNDECODABLE, Result, fails

# The kinds whose number of findings each line shows, even if the number is 0.
ALWAYS = ("load", "unproven")
SHOWN = 4  # features in the counts of functions that are not judged


@dataclass(frozen=True)
class Summary:
    """The audits of the files of one target.

    - `state`: error; or fail, for findings that fail the audit; or skip, if nothing was audited; or ok
    - `findings`: the number of findings by kind
    - `allowed`: the number of functions and findings that entries allowed
    - `not_audited`: the number of files that isagen does not read, such as archives
    - `problems`: the errors of files that could not be read
    - `counted`: by feature, the number of functions that need it and are not judged
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
