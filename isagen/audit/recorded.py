"""The audit of a file with a record of isagen."""

from __future__ import annotations

from collections.abc import Sequence

from ..binary.reader import Binary
from ..model.record import Record
from ..processors.features import features_of
from ..processors.instruction_sets import instruction_sets
from ..processors.registry import decoder_of
from .allowances import Allowances
from .boundaries import bindable_functions, code_outside, crossings, split_variables, stored_addresses, undefined_names
from .build_objects import BuildObjects
from .by_level import level_findings
from .findings import Finding, Result
from .reachable import at_load
from .records import NO_LIMIT, Baseline, judged_by, merge
from .subject import Subject

NAMELESS = "stripped: functions without names, which may be of levels or allowed by isa.toml, are judged only at load"


def audit_linked(
    binary: Binary, records: Sequence[Record], objects: BuildObjects | None, baseline: Baseline = NO_LIMIT
) -> Result:
    """Audit a linked file by its records and the user's `baseline`, and by its objects if these are available."""
    record = merge([baseline.narrow(record) for record in records])
    subject = subject_of(binary, record, objects=objects)
    load = at_load(subject)
    findings = [*baseline.beyond(records), *load.findings()]
    notes: tuple[str, ...] = ()
    outside: tuple[str, ...] = ()
    if record.sealed or len(record.levels) < 2:
        crossed, addresses = crossings(subject)
        findings += [*level_findings(subject, load.offenders), *crossed]
        findings += [*bindable_functions(subject), *stored_addresses(subject)]
        if objects is not None:
            findings += undefined_names(subject, objects)
            findings += split_variables(subject, objects)
        outside = code_outside(subject, addresses)
        if subject.nameless_allowed:
            notes = (NAMELESS,)
    else:
        findings.append(Finding("unsealed", "", record.seal_reason))
    return Result(
        target=binary.shown,
        judged=judged_by(record, subject.sets),
        findings=tuple(findings),
        counted=subject.counted,
        allowed=tuple(entry for entry in subject.allowances.allowed() if entry[-1] or not binary.stripped),
        outside=outside,
        notes=notes,
    )


def subject_of(binary: Binary, record: Record, *, level: str = "", objects: BuildObjects | None = None) -> Subject:
    """Return a binary under audit by a record. Raises `AuditError` if no decoder reads its code."""
    sets = instruction_sets(features_of(record.features).name, decoder_of(binary.architecture, binary.shown))
    allowed = frozenset(record.outside), Allowances(record.allow)
    return Subject(binary, sets, *allowed, record.levels, level, objects, record.module)
