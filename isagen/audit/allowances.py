"""Applies allowances: isa.toml allows functions and variables, and the files of `--allow` allow findings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from ..binary.mangling import demangle
from ..model.errors import AuditError
from ..model.names import name_in_source
from ..model.record import Allowance, matches
from ..model.toml import Section, read_toml
from .findings import KINDS, Entry, Finding, Result

# The start of the name that reports give to a function without a symbol.
NAMELESS = "function at 0x"


def names_of(symbol: str) -> frozenset[str]:
    """Return the names by which an entry can allow `symbol`: the linker's and C++'s, with and without suffixes."""
    in_source = name_in_source(symbol)  # without the suffix of sealing
    names = (symbol, in_source, in_source.partition(".")[0])  # without compilers' suffixes of parts and clones
    return frozenset((*names, *map(demangle, names)))


@dataclass
class Allowances:
    """The entries of isa.toml; `used` maps the pattern of each to the functions and variables that it allowed."""

    entries: Sequence[Allowance] = ()
    used: dict[str, set[str]] = field(default_factory=dict)

    def allows(self, symbol: str) -> bool:
        """Return whether an entry allows the function or variable `symbol`. If so, add `symbol` to `used`."""
        names = names_of(symbol) if self.entries else ()
        for entry in self.entries:
            if any(matches(name, entry.symbol) for name in names):
                self.used.setdefault(entry.symbol, set()).add(symbol)
                return True
        return False

    def allowed(self) -> tuple[tuple[str, str, int], ...]:
        """Return (pattern, reason, number of functions and variables that it allowed) of each entry."""
        return tuple((entry.symbol, entry.reason, len(self.used.get(entry.symbol, ()))) for entry in self.entries)


def read_allow_files(paths: Iterable[Path]) -> tuple[Entry, ...]:
    """Read the entries of files of allowances. Raises `AuditError` if a file or an entry is invalid."""
    return tuple(entry for path in dict.fromkeys(paths) for entry in _read(path))


def _read(path: Path) -> list[Entry]:
    top = read_toml(path, AuditError)
    entries = [_entry(section, str(path), number) for number, section in enumerate(top.tables("allow"))]
    top.finish()
    return entries


def _entry(section: Section, path: str, number: int) -> Entry:
    kinds = tuple(dict.fromkeys(word.strip().lower() for word in section.strings("kind", ())))
    section.check("kind", "kind of finding", kinds, KINDS)
    entry = section.record(Entry, path=path, number=number, kinds=kinds)
    if not entry.reason.strip():
        raise section.fail("reason", "is empty", "say why the code is safe, or why it never runs")
    for key, value in (("file", entry.file.strip()), ("symbol", entry.symbol.strip()), ("kind", entry.kinds)):
        if key in section and not value:
            raise section.fail(key, "is empty", "give a value, or leave the key out")
    if "symbol" in section and not entry.symbol.strip("*?"):
        raise section.fail("symbol", f"{entry.symbol!r} allows every function", "name functions, or give only `file`")
    if not entry.symbol and not entry.file.strip("*?/"):
        raise section.fail("symbol", "is missing", "name functions, or files by `file`: an entry cannot allow all")
    return entry


def without_allowed(result: Result, entries: Sequence[Entry]) -> Result:
    """Return `result` with the findings that `entries` allow moved from `findings` to `excused`."""
    entries = [entry for entry in entries if _matches_file(entry, result)]
    excused: dict[Entry, list[Finding]] = {}
    faults: list[Finding] = []
    for finding in result.findings:
        entry = next((entry for entry in entries if _allows(entry, finding)), None)
        (excused.setdefault(entry, []) if entry is not None else faults).append(finding)
    by_entry = tuple((entry, tuple(findings)) for entry, findings in excused.items())
    return replace(result, findings=tuple(faults), excused=by_entry)


def uses(entry: Entry, results: Iterable[Result]) -> tuple[int, int]:
    """Return the number of audited files that an entry matches, and the number of findings that it allowed."""
    files = [result for result in results if _matches_file(entry, result)]
    return len(files), sum(len(found) for result in files for other, found in result.excused if other == entry)


def unused(entries: Iterable[Entry], results: Sequence[Result]) -> list[str]:
    """Return a sentence for each entry that allowed nothing."""
    useless = "allows nothing: no finding matches, or an earlier entry allows it; remove the entry"
    counts = ((entry, *uses(entry, results)) for entry in entries)
    return [
        f"{entry.path}: allow[{entry.number}]: {entry.shown}: "
        + (useless if files else "no file of that name was audited")
        for entry, files, findings in counts
        if not findings
    ]


def _matches_file(entry: Entry, result: Result) -> bool:
    """Return whether `entry` is for the file of `result`: its pattern matches the path, or what follows a slash in it.

    Without a pattern, it is for every file. No entry is for a file whose code was not decoded, or that has none.
    """
    parts = result.target.split("/")
    matching = not entry.file or any(matches("/".join(parts[i:]), entry.file) for i in range(len(parts)))
    return result.decoded and not result.empty and matching


def _allows(entry: Entry, finding: Finding) -> bool:
    if entry.kinds and finding.kind not in entry.kinds:
        return False
    if not entry.symbol:
        return True
    if finding.symbol.startswith(NAMELESS) and not entry.symbol.startswith(NAMELESS):
        return False  # a pattern such as `f*` is not meant for functions without names
    return any(matches(name, entry.symbol) for name in names_of(finding.symbol))
