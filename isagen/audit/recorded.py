"""The audit of a file with a record of isagen, and of an object of a build."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..binary.formats import load_object, open_binary
from ..binary.reader import Binary
from ..model.record import Record
from ..processors.features import features_of
from ..processors.instruction_sets import InstructionSets, instruction_sets
from ..processors.registry import decoder_of
from .allowances import Allowances
from .boundaries import bindable_functions, code_outside, crossings, split_variables, stored_addresses, undefined_names
from .build_objects import BuildObjects
from .by_level import level_findings
from .findings import Finding, Result
from .flags import alike_instructions
from .reachable import load_findings
from .records import NO_LIMIT, Baseline, check_levels, judged_by, merge
from .subject import Origin, Subject

ALLOWED = "stripped: functions without names may be those that isa.toml allows; they are counted"
LOST = "stripped: functions without names may be of levels; of these, only what runs at load is judged"


def audit_linked(
    binary: Binary, records: Sequence[Record], objects: BuildObjects | None, baseline: Baseline = NO_LIMIT
) -> Result:
    """Audit a linked file by its records and the user's `baseline`, and by its objects if these are available."""
    record = merge([baseline.narrow(record) for record in records])
    if objects is not None and not record.sealed:
        result = _audit_unsealed(binary, record, objects)
    else:
        result = _audit_record(binary, record, objects)
    check_levels(records, result)
    return baseline.noted(replace(result, findings=(*baseline.beyond(records), *result.findings)))


def audit_object(
    binary: Binary, record: Record, level: str, shown: str, kernel: str, baseline: Baseline = NO_LIMIT
) -> Result:
    """Audit an object of a build by its `level`; if that is "", by the baselines of the record and the user."""
    record = baseline.narrow(record)
    subject = _subject(binary, record, lambda *_: (shown, kernel), level=level)
    what = f"an object of {record.project}, {f'level {level}' if level else 'of no level'}"
    return baseline.noted(_result(subject, record, _findings(subject), target=shown, judged=f"{what}; "))


def sets_of(binary: Binary, record: Record) -> InstructionSets:
    """Return the instruction sets of the features file that a record names, for the instructions of a file."""
    return instruction_sets(features_of(record.features).name, decoder_of(binary.architecture, binary.shown))


def _subject(binary: Binary, record: Record, origin: Origin, **more: Any) -> Subject:
    sets, allowances = sets_of(binary, record), Allowances(record.allow)
    return Subject(binary, sets, frozenset(record.outside), allowances, origin, **{"levels": record.levels, **more})


def _result(subject: Subject, record: Record, findings: Iterable[Finding], *, judged: str = "", **more: Any) -> Result:
    judged += judged_by(record, subject.sets)
    allowed = subject.allowances.allowed()
    return Result(judged=judged, findings=tuple(findings), counted=subject.counted, allowed=allowed, **more)


def _findings(subject: Subject, others: Collection[str] | None = None) -> list[Finding]:
    """Return the findings of code that runs at load, and of each function by its level."""
    load = load_findings(subject)
    return [*load.findings, *level_findings(subject, load.beyond, others)]


def _audit_record(binary: Binary, record: Record, objects: BuildObjects | None) -> Result:
    """Audit a linked file by its record, and by its objects if these are available.

    In a private module, functions of no level come from objects of the module's level.
    """
    if objects is None:
        subject = _subject(binary, record, lambda *_: ("", ""))
    else:
        origin = lambda symbol, level: objects.origin(symbol, level or record.module)  # noqa: E731
        subject = _subject(binary, record, origin, public_names=objects.public_names)
    more: dict[str, Any] = {}
    if record.sealed:
        findings = _findings(subject)
        crossed, addresses = crossings(subject)
        findings += [*crossed, *bindable_functions(subject), *stored_addresses(subject)]
        if objects is not None:
            findings += [
                *undefined_names(subject, objects),
                *split_variables(subject, objects),
                *alike_instructions(subject, objects),
            ]
        more["outside"] = code_outside(subject, addresses)
        if subject.nameless_allowed:
            more["notes"] = (LOST if subject.levels_are_lost else ALLOWED,)
    else:
        findings = [*load_findings(subject).findings, Finding("unsealed", "", record.seal_reason)]
    more["unused"] = () if binary.stripped else subject.allowances.unused()
    return _result(subject, record, findings, target=binary.shown, **more)


def _audit_unsealed(binary: Binary, record: Record, objects: BuildObjects) -> Result:
    """Audit a linked file whose levels are not sealed, by the objects that it was linked from.

    The linked file itself is audited too, by the baseline alone: code that runs at load may reach a weak function that
    the linker took from a level's object, and functions of no level may come from archives. If an object has a finding
    of some kind and symbol, a finding of the linked file with this kind and symbol is left out.
    """
    subject = _subject(binary, record, objects.origin, levels={})
    findings = _shared(record, objects)
    groups = [(level, paths) for level, paths in objects.by_level.items() if level in record.levels]
    for level, paths in (*groups, ("", objects.others)):
        for path in paths:
            origin = (objects.shown(path), objects.kernel(path))
            with open_binary(path, origin[0]) as part:
                part_subject = _subject(part, record, lambda *_, origin=origin: origin, level=level)
                part_subject.allowances, part_subject.counted = subject.allowances, subject.counted
                findings += _findings(part_subject)
    of_objects = {(finding.kind, finding.symbol) for finding in findings}
    of_linked = _findings(subject, objects.functions)
    findings += [finding for finding in of_linked if (finding.kind, finding.symbol) not in of_objects]
    return _result(subject, record, findings, target=binary.shown, unused=subject.allowances.unused())


def _shared(record: Record, objects: BuildObjects) -> list[Finding]:
    """Return the findings of weak symbols that several levels define, or a level and ordinary code."""
    baseline = frozenset(record.baseline)
    definitions: dict[str, dict[str, Path]] = {}  # by symbol and level
    for level, paths in (*objects.by_level.items(), ("", objects.others)):
        # A level that needs no more than the baseline counts as the baseline: every CPU can run its code.
        group = level if level and not baseline.issuperset(record.levels.get(level, ())) else ""
        for path in paths:
            for symbol in load_object(path).weak_code_and_constants:
                definitions.setdefault(symbol.name, {}).setdefault(group, path)
    findings = []
    for name, by_level in sorted(definitions.items()):
        if len(by_level) > 1:
            level, path = next((level, path) for level, path in by_level.items() if level)
            detail = f"defined by {', '.join(level or 'the baseline' for level in by_level)}"
            findings.append(Finding("shared", name, detail, level, objects.shown(path), objects.kernel(path)))
    return findings
