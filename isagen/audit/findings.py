"""The findings and results of audits, as values."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ..model.errors import AuditError, IsagenError, reported
from ..model.toml import read_toml

_FILE = read_toml(Path(__file__).with_name("findings.toml"), AuditError, "findings.toml")


def _texts(table: str) -> Mapping[str, tuple[str, str]]:
    return {name: (entry.string("meaning"), entry.string("remedy")) for name, entry in _FILE.sections(table)}


# The meaning and the remedy of each kind of finding, and of each cause.
KINDS, CAUSES = _texts("kinds"), _texts("causes")
# Kinds that are warnings: they fail no build.
WARNINGS = frozenset({"unproven", "split"})
# The key in `Result.counted` of functions with bytes that are no known instruction.
UNDECODABLE = "undecodable"


@dataclass(frozen=True)
class Finding:
    """One fault, or one thing that is unproven.

    `kind` is one of KINDS, and `cause` one of CAUSES or "". `symbol` is the linker's name of the function or variable;
    for a whole build, it is the project's name or "". `features` are those that the function needs without a check, and
    `instruction`, at `address`, is the first instruction that needs one of them. `path` is the chain of calls to the
    function from a root (see `reachable`). `variable` is a variable that this chain initialises, or the one that a
    finding of the kind `split` is about. `level`, `object` and `kernel` (a kernel source) are empty if there is none,
    or if it is unknown.
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
        """The meaning of the cause; without a cause, of the kind."""
        return CAUSES[self.cause][0] if self.cause else KINDS[self.kind][0]

    @property
    def remedy(self) -> str:
        """The remedy for the cause; without a cause, for the kind."""
        return CAUSES[self.cause][1] if self.cause else KINDS[self.kind][1]


@dataclass(frozen=True)
class Entry:
    """An entry of a file of allowances, with its `number` in the file at `path`.

    `file` and `symbol` are patterns, and `kinds` are kinds of findings; an empty value allows all.
    """

    path: str
    number: int
    reason: str
    file: str = ""
    symbol: str = ""
    kinds: tuple[str, ...] = ()

    @property
    def shown(self) -> str:
        """The findings that the entry allows, in words."""
        kinds = f" ({', '.join(self.kinds)})" if self.kinds else ""
        return (self.symbol or "every function") + (f" in {self.file}" if self.file else "") + kinds


@dataclass(frozen=True)
class Result:
    """The audit of one file.

    - `judged`: the features that the file was judged by, or why it was not audited, in words
    - `findings`: sorted by kind and symbol; exported functions are the last of their kind
    - `counted`: by feature, the names of functions and the addresses of other code that need it and are not judged;
      functions with unknown instructions are under UNDECODABLE
    - `allowed`: entries of isa.toml: (pattern, reason, number of functions and variables that the entry allowed)
    - `outside`: functions and vtables of no level that code of levels refers to: all levels use one copy of them
    - `decoded`: false if the file could not be read, or its code was not decoded
    - `excused`: the findings that a file of allowances allows, by entry
    - `group`: the wheel that contains the file, or else the folder or universal file that is the target
    - `empty`: whether this is the result of a wheel or folder without machine code
    - `calls`: of a file without a record, names of functions of other files that the file calls at load
    - `exports`: of a file without a record, names of its symbols that other files can use
    - `recorded`: false if the file was judged by the user's baseline, because it has no record
    """

    target: str
    judged: str
    findings: tuple[Finding, ...] = ()
    counted: Mapping[str, Sequence[str]] = field(default_factory=dict)
    allowed: tuple[tuple[str, str, int], ...] = ()
    outside: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    decoded: bool = True
    problem: IsagenError | None = None
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


def failed_result(shown: str, problem: IsagenError | OSError) -> Result:
    """Return the result of a file that could not be audited."""
    error = reported(problem)
    error.where = error.where or shown
    return Result(shown, f"not audited: {error.message}", decoded=False, problem=error)


def fails(result: Result, kinds: Container[str] | None = None) -> bool:
    """Return whether a result has a finding of one of the `kinds`.

    None means all kinds but warnings; for a file without a record, whose dispatch is unknown, None means `load`.
    """
    if kinds is None:
        kinds = KINDS.keys() - WARNINGS if result.recorded else {"load"}
    return any(finding.kind in kinds for finding in result.findings)
