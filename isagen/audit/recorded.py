"""The audit of a file with a record of isagen, and of an object of a build."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

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


def _findings(subject: Subject) -> list[Finding]:
    """Return the findings of code that runs at load, and of each function by its level."""
    load = load_findings(subject)
    return [*load.findings, *level_findings(subject, load.beyond)]


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
    if record.sealed or len(record.levels) < 2:
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
