"""What audits found, in one line for each wheel, folder or file that an audit was called for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass

from .findings import KINDS, UNDECODABLE, Result, fails

# The kinds whose number each line says, also where there are none.
ALWAYS = ("load", "unproven")
SHOWN = 4  # features of functions that are not judged


@dataclass(frozen=True)
class Summary:
    """The audits of the files of one target.

    `found` are the findings of each kind, `allowed` is the number of functions and findings that entries allowed,
    `unread` that of files that are not for the audit to read, such as archives; `problems` says of others why they
    could not be read. `failed` tells whether a finding is of a kind that fails the audit, and `counted` how many
    functions that are not judged need each feature.
    """

    target: str
    files: int
    found: Counter[str]
    allowed: int
    unread: int
    problems: tuple[str, ...]
    failed: bool
    counted: Counter[str]

    @property
    def state(self) -> str:
        """The outcome in a word: error, fail, skip (nothing was audited), or ok."""
        if self.problems:
            return "error"
        if self.failed:
            return "fail"
        return "skip" if self.files and self.unread == self.files else "ok"

    def line(self) -> str:
        """Return the summary as a line."""
        return f"{self.state:5}  {self.target}: {self._said()}"

    def _said(self) -> str:
        if not self.files:
            return "no machine code"
        if len(self.problems) == self.files:
            return f"not audited: {self.problems[0]}"
        files = f"{self.files:,} file{'s' * (self.files != 1)}"
        if self.unread == self.files:
            return f"{files}, not audited"
        kinds = [kind for kind in KINDS if self.found[kind] and kind not in ALWAYS]
        counts = ", ".join((files, *(f"{self.found[kind]:,} {kind}" for kind in (*ALWAYS, *kinds))))
        parts = ((self.allowed, "allowed"), (self.unread, "not audited"), (len(self.problems), "cannot be read"))
        said = [f"{what} {number:,}" for number, what in parts if number]
        if self.counted:
            most = self.counted.most_common(SHOWN)
            more = f" and {len(self.counted) - SHOWN} more" if len(self.counted) > SHOWN else ""
            said.append("not judged: " + ", ".join(f"{name} {number:,}" for name, number in most) + more)
        return "; ".join((counts, *said))


def summaries(results: Iterable[Result], fail_on: Container[str] | None = None) -> list[Summary]:
    """Return the summaries of all targets, in the order of their first files."""
    groups: dict[str, list[Result]] = {}
    for result in results:
        groups.setdefault(result.group or result.target, []).append(result)
    return [_summary(target, group, fail_on) for target, group in groups.items()]


def _summary(target: str, results: Sequence[Result], fail_on: Container[str] | None) -> Summary:
    allowed = sum(number for result in results for _, _, number in result.allowed)
    counted: Counter[str] = Counter()
    for result in results:
        counted.update({feature: len(names) for feature, names in result.counted.items()})
    return Summary(
        target=target,
        files=sum(not result.empty for result in results),
        found=Counter(finding.kind for result in results for finding in result.findings),
        allowed=allowed + sum(len(findings) for result in results for _, findings in result.excused),
        unread=sum(not result.decoded and result.problem is None for result in results),
        problems=tuple(result.problem.message for result in results if result.problem is not None),
        failed=any(fails(result, fail_on) for result in results),
        counted=Counter({key: n for key, n in counted.items() if key != UNDECODABLE}),
    )
