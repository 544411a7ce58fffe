"""The findings and results of audits, as values."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ..model.errors import AuditError, IsagenError
from ..model.toml import read_toml

_FILE = read_toml(Path(__file__).with_name("findings.toml"), AuditError, "findings.toml")


def _texts(table: str) -> Mapping[str, tuple[str, str]]:
    return {name: (entry.string("meaning"), entry.string("remedy")) for name, entry in _FILE.sections(table)}


# The meaning and the remedy of each kind of findings, and of each cause of unproven ones.
KINDS, CAUSES = _texts("kinds"), _texts("causes")
# Kinds that are warnings: they fail no build.
WARNINGS = frozenset({"unproven", "split"})
# The key in `Result.counted` of functions with bytes that are no known instruction.
UNDECODABLE = "undecodable"


@dataclass(frozen=True)
class Finding:
    """One fault.

    `symbol` is what the linker calls the function, `features` are those that are not checked there, `instruction` is
    the first unchecked one with its `address`, `path` the chain of calls that leads to it from a root, which the loader
    runs, and `variable` what that code initialises. `level`, `object` and `kernel` are empty where they are unknown.
    `cause` is one of CAUSES where the kind is unproven.
    """

    kind: str
    symbol: str
    detail: str = ""
    level: str = ""
    object: str = ""
    kernel: str = ""
    features: tuple[str, ...] = ()
    instruction: str = ""
    address: int = 0
    path: tuple[str, ...] = ()
    variable: str = ""
    cause: str = ""

    @property
    def meaning(self) -> str:
        """The fault, in general words."""
        return CAUSES[self.cause][0] if self.cause else KINDS[self.kind][0]

    @property
    def remedy(self) -> str:
        """The remedy, in general words."""
        return CAUSES[self.cause][1] if self.cause else KINDS[self.kind][1]


@dataclass(frozen=True)
class Entry:
    """An entry of a file of allowances: its `number` in the file at `path`, what it allows, and why.

    `file` and `symbol` are patterns, and `kinds` are kinds of findings; each is empty where the entry does not say.
    """

    path: str
    number: int
    reason: str
    file: str = ""
    symbol: str = ""
    kinds: tuple[str, ...] = ()

    @property
    def shown(self) -> str:
        """What the entry allows, for messages."""
        kinds = f" ({', '.join(self.kinds)})" if self.kinds else ""
        return (self.symbol or "every function") + (f" in {self.file}" if self.file else "") + kinds


@dataclass(frozen=True)
class Result:
    """The audit of one file.

    `judged` says by what. `counted` are the names of functions beyond the baseline that are not judged, since what
    guards them is unknown, by feature, and of those that are undecodable. `allowed` and `unused` are entries of
    isa.toml, the former with how many functions each allowed. `outside` are functions and vtables of no level that code
    of levels calls or points to: one copy of them runs for all levels. `decoded` tells whether there is a decoder for
    the code, and `problem` why the file could not be audited. `excused` are findings that a file of allowances allows,
    by entry. `group` is the wheel or folder that the file is in, if it was audited as a part of one, which is `empty`
    if it holds no machine code. `calls` are the names of other files' functions that the file calls at load,
    `exports` those by which others can call its own, and
    `recorded` tells whether isagen built it.
    """

    target: str
    judged: str
    findings: tuple[Finding, ...] = ()
    counted: Mapping[str, Sequence[str]] = field(default_factory=dict)
    allowed: tuple[tuple[str, str, int], ...] = ()
    unused: tuple[tuple[str, str], ...] = ()
    outside: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    decoded: bool = True
    problem: AuditError | None = None
    excused: tuple[tuple[Entry, tuple[Finding, ...]], ...] = ()
    group: str = ""
    empty: bool = False
    calls: frozenset[str] = frozenset()
    exports: frozenset[str] = frozenset()
    recorded: bool = True

    def __post_init__(self) -> None:
        kinds = list(KINDS)
        order = sorted(self.findings, key=lambda f: (kinds.index(f.kind), f.detail == "exported", f.symbol, f.level))
        object.__setattr__(self, "findings", tuple(order))


def failed(shown: str, problem: IsagenError | OSError) -> Result:
    """Return the result of a file that could not be audited."""
    if isinstance(problem, AuditError):
        error = problem
    elif isinstance(problem, IsagenError):
        error = AuditError(problem.message, where=problem.where, remedy=problem.remedy)
    else:
        error = AuditError(f"cannot be read: {problem.strerror}", where=str(problem.filename or shown))
    return Result(shown, f"not audited: {error.message}", decoded=False, problem=error)


def fails(result: Result, kinds: Container[str] | None = None) -> bool:
    """Return whether an audit found a fault of one of the `kinds`.

    By default these are all but warnings, and of a file without a record, code that runs at load: it is unknown what
    guards the rest.
    """
    return any(
        finding.kind in kinds
        if kinds is not None
        else finding.kind not in WARNINGS and (result.recorded or finding.kind == "load")
        for finding in result.findings
    )
