"""Auditing what isagen built: linked files by their record, objects by their level."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ..binary.formats import open_binary
from ..binary.protocol import Binary
from ..model.record import Record
from ..processors.features import features_of
from ..processors.instruction_sets import InstructionSets, instruction_sets
from ..processors.registry import decoder_of
from .allowances import Allowances
from .boundaries import borrowed, code_outside, crossings, exported, split, stored, unresolved
from .build_objects import BuildObjects, borrowable
from .by_level import Counted, level_findings
from .findings import Finding, Result
from .flags import meant
from .reachable import load_findings
from .records import check_levels, judged_by, merge
from .subject import Origin, Subject, unknown_origin


def audit_linked(binary: Binary, records: Sequence[Record], objects: BuildObjects | None) -> Result:
    """Audit a linked file by its records, and by the objects that it came from, where they are at hand."""
    record = merge(records)
    sets = sets_of(binary, record)
    if objects is not None and not record.sealed:
        result = _audit_unsealed(binary, record, sets, objects)
    else:
        result = _audit_record(binary, record, sets, objects)
    check_levels(records, result)
    return result


def audit_object(binary: Binary, record: Record, level: str, shown: str, kernel: str) -> Result:
    """Audit an object of a build: one of a `level`, or of none."""
    allowances = Allowances(record.allow)
    sets = sets_of(binary, record)
    counted = Counted()
    findings = _object_findings(binary, record, sets, level, allowances, lambda *_: (shown, kernel), counted)
    what = f"an object of {record.project}, level {level}" if level else f"an object of {record.project}, of no level"
    allowed = allowances.allowed()
    return Result(shown, f"{what}; {judged_by(record, sets)}", tuple(findings), counted.names, allowed)


def sets_of(binary: Binary, record: Record) -> InstructionSets:
    """Return the features that instructions of a file need, by the features file that a record names."""
    return instruction_sets(features_of(record.features).name, decoder_of(binary.architecture, binary.shown))


def _origin_in(objects: BuildObjects, module: str) -> Origin:
    """Return the origins of functions; those of no level are of the level whose private `module` the file is."""
    return lambda symbol, level: objects.origin(symbol, level or module)


def _audit_record(binary: Binary, record: Record, sets: InstructionSets, objects: BuildObjects | None) -> Result:
    """Audit a linked file by its record, and by the objects that it came from, where they are at hand."""
    origin = _origin_in(objects, record.module) if objects is not None else unknown_origin
    allowances = Allowances(record.allow)
    known = objects.known if objects is not None else frozenset()
    subject = Subject(binary, sets, frozenset(record.outside), allowances, origin, record.levels, known=known)
    load = load_findings(subject)
    findings = list(load.values())
    counted = Counted()
    notes = []
    outside: tuple[str, ...] = ()
    if record.sealed:
        called = level_findings(subject, load, counted)
        crossed = crossings(subject)
        findings += called + borrowed(subject) + crossed.findings() + exported(subject) + stored(subject)
        if objects is not None:
            findings += unresolved(subject, objects) + split(subject, objects) + meant(subject, objects)
        outside = code_outside(subject, crossed.outside)
        if binary.stripped and allowances.entries:
            notes.append("stripped: what isa.toml allows by name cannot be told from what it does not, and is counted")
    else:
        findings.append(Finding("unsealed", "", record.seal_reason))
    return Result(
        target=binary.shown,
        judged=judged_by(record, sets),
        findings=tuple(findings),
        counted=counted.names,
        allowed=allowances.allowed(),
        unused=() if binary.stripped else allowances.unused(),
        outside=outside,
        notes=tuple(notes),
    )


def _object_findings(
    binary: Binary,
    record: Record,
    sets: InstructionSets,
    level: str,
    allowances: Allowances,
    origin: Origin,
    counted: Counted,
) -> list[Finding]:
    """Judge an object of a build; return findings, and add to `counted` what cannot be judged."""
    subject = Subject(binary, sets, frozenset(record.outside), allowances, origin, record.levels, level)
    load = load_findings(subject)
    return [*load.values(), *level_findings(subject, load, counted)]


def _audit_unsealed(binary: Binary, record: Record, sets: InstructionSets, objects: BuildObjects) -> Result:
    """Audit a linked file whose levels are not sealed, by the objects that it was linked from."""
    allowances = Allowances(record.allow)
    findings: list[Finding] = []
    counted = Counted()
    groups = [(level, paths) for level, paths in objects.by_level.items() if level in record.levels]
    for level, paths in (*groups, ("", objects.others)):
        for path in paths:
            place = (objects.shown(path), objects.kernel(path))
            with open_binary(path, place[0]) as part:
                origin = lambda *_, place=place: place  # noqa: E731
                findings += _object_findings(part, record, sets, level, allowances, origin, counted)
    findings += _shared(record, objects)
    # The objects' findings count first. In the linked file, what a root reaches may be another level's copy, and what
    # is of no level may be from archives.
    known = {(finding.kind, finding.symbol) for finding in findings}
    subject = Subject(binary, sets, frozenset(record.outside), allowances, objects.origin)
    load = load_findings(subject)
    called = level_findings(subject, load, counted, objects.functions)
    findings += [finding for finding in (*load.values(), *called) if (finding.kind, finding.symbol) not in known]
    return Result(
        target=binary.shown,
        judged=judged_by(record, sets),
        findings=tuple(findings),
        counted=counted.names,
        allowed=allowances.allowed(),
        unused=allowances.unused(),
    )


def _shared(record: Record, objects: BuildObjects) -> list[Finding]:
    """Return the weak symbols that more than one level defines, or a level and code of no level."""
    baseline = frozenset(record.baseline)
    users: dict[str, dict[str, Path]] = {}
    for level, paths in (*objects.by_level.items(), ("", objects.others)):
        # A level that needs no more than the baseline has the baseline's code.
        group = level if level and not baseline.issuperset(record.levels.get(level, ())) else ""
        for path in paths:
            for symbol in borrowable(path):
                users.setdefault(symbol, {}).setdefault(group, path)
    findings = []
    for symbol, found in sorted(users.items()):
        if len(found) > 1:
            level, path = next((level, path) for level, path in found.items() if level)
            names = ", ".join(name or "the baseline" for name in found)
            findings.append(
                Finding("shared", symbol, f"defined by {names}", level, objects.shown(path), objects.kernel(path))
            )
    return findings
