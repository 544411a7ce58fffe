"""Auditing what isagen built: linked files by their record, objects by their level."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Any

from ..binary.formats import load_object, open_binary
from ..binary.protocol import Binary
from ..model.record import Record
from ..processors.features import features_of
from ..processors.instruction_sets import InstructionSets, instruction_sets
from ..processors.registry import decoder_of
from .allowances import Allowances
from .boundaries import bindable, code_outside, crossings, split, stored, unresolved
from .build_objects import BuildObjects
from .by_level import level_findings
from .findings import Finding, Result
from .flags import meant
from .reachable import load_findings
from .records import check_levels, judged_by, merge
from .subject import Origin, Subject


def audit_linked(binary: Binary, records: Sequence[Record], objects: BuildObjects | None) -> Result:
    """Audit a linked file by its records, and by its objects if these are available."""
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
    subject = _subject(binary, record, sets_of(binary, record), lambda *_: (shown, kernel), level=level)
    what = f"an object of {record.project}, {f'level {level}' if level else 'of no level'}"
    return _result(subject, record, _by_level(subject), target=shown, judged=f"{what}; ")


def sets_of(binary: Binary, record: Record) -> InstructionSets:
    """Return the features that instructions of a file need, by the features file that a record names."""
    return instruction_sets(features_of(record.features).name, decoder_of(binary.architecture, binary.shown))


def _subject(binary: Binary, record: Record, sets: InstructionSets, origin: Origin, **more: Any) -> Subject:
    return Subject(binary, sets, frozenset(record.outside), Allowances(record.allow), origin, record.levels, **more)


def _result(subject: Subject, record: Record, findings: Iterable[Finding], **more: Any) -> Result:
    judged = more.pop("judged", "") + judged_by(record, subject.sets)
    allowed = subject.allowances.allowed()
    return Result(judged=judged, findings=tuple(findings), counted=subject.counted, allowed=allowed, **more)


def _by_level(subject: Subject, others: Collection[str] | None = None) -> list[Finding]:
    load = load_findings(subject)
    return [*load.values(), *level_findings(subject, load, others)]


def _audit_record(binary: Binary, record: Record, sets: InstructionSets, objects: BuildObjects | None) -> Result:
    """Audit a linked file by its record, and by its objects if these are available. In a private module, functions of
    no level are of the module's level.
    """
    if objects is None:
        subject = _subject(binary, record, sets, lambda *_: ("", ""))
    else:
        origin = lambda symbol, level: objects.origin(symbol, level or record.module)  # noqa: E731
        subject = _subject(binary, record, sets, origin, known=objects.known)
    if not record.sealed:
        unsealed = Finding("unsealed", "", record.seal_reason)
        findings = [*load_findings(subject).values(), unsealed]
        unused = () if binary.stripped else subject.allowances.unused()
        return _result(subject, record, findings, target=binary.shown, unused=unused)
    findings = _by_level(subject)
    crossed, addresses = crossings(subject)
    findings += [*crossed, *bindable(subject), *stored(subject)]
    if objects is not None:
        findings += [*unresolved(subject, objects), *split(subject, objects), *meant(subject, objects)]
    note = "stripped: what isa.toml allows by name cannot be told from what it does not, and is counted"
    return _result(
        subject,
        record,
        findings,
        target=binary.shown,
        unused=() if binary.stripped else subject.allowances.unused(),
        outside=code_outside(subject, addresses),
        notes=(note,) if subject.nameless_allowed else (),
    )


def _audit_unsealed(binary: Binary, record: Record, sets: InstructionSets, objects: BuildObjects) -> Result:
    """Audit a linked file whose levels are not sealed, by the objects that it was linked from.

    The objects' findings count first. In the linked file, a root may reach another level's copy, and functions of no
    level may be from archives.
    """
    subject = Subject(binary, sets, frozenset(record.outside), Allowances(record.allow), objects.origin)
    findings = _shared(record, objects)
    groups = [(level, paths) for level, paths in objects.by_level.items() if level in record.levels]
    for level, paths in (*groups, ("", objects.others)):
        for path in paths:
            place = (objects.shown(path), objects.kernel(path))
            with open_binary(path, place[0]) as part:
                one = _subject(part, record, sets, lambda *_, place=place: place, level=level)
                one.allowances, one.counted = subject.allowances, subject.counted
                findings += _by_level(one)
    known = {(finding.kind, finding.symbol) for finding in findings}
    linked = _by_level(subject, objects.functions)
    findings += [finding for finding in linked if (finding.kind, finding.symbol) not in known]
    return _result(subject, record, findings, target=binary.shown, unused=subject.allowances.unused())


def _shared(record: Record, objects: BuildObjects) -> list[Finding]:
    """Return the weak symbols that more than one level defines, or a level and code of no level."""
    baseline = frozenset(record.baseline)
    users: dict[str, dict[str, Path]] = {}
    for level, paths in (*objects.by_level.items(), ("", objects.others)):
        # A level that needs no more than the baseline has the baseline's code.
        group = level if level and not baseline.issuperset(record.levels.get(level, ())) else ""
        for path in paths:
            for one in load_object(path).weak_code_and_constants:
                users.setdefault(one.name, {}).setdefault(group, path)
    findings = []
    for symbol, found in sorted(users.items()):
        if len(found) > 1:
            level, path = next((level, path) for level, path in found.items() if level)
            names = ", ".join(name or "the baseline" for name in found)
            findings.append(
                Finding("shared", symbol, f"defined by {names}", level, objects.shown(path), objects.kernel(path))
            )
    return findings
