"""Audits one binary: by isagen's records in it, or, if there are none, by the user's baseline."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from ..binary.reader import Binary
from ..model.record import Record
from ..processors.features import features_of
from ..processors.instruction_sets import instruction_sets
from ..processors.registry import decoder_of
from .allowances import Allowances
from .boundaries import bindable_functions, code_outside, crossings, split_variables, stored_addresses, undefined_names
from .build_objects import BuildObjects
from .by_level import level_findings
from .findings import UNDECODABLE, Finding, Result
from .reachable import at_load
from .records import NO_LIMIT, Baseline, judged_by, merge
from .subject import Subject

NAMELESS = "stripped: functions without names may be of levels or allowed, so they are judged only if they run at load"
# The prefix of the function that Python calls when it imports a module.
IMPORTED = "PyInit_"


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
        if subject.nameless_may_be_allowed:
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
    """Return the `Subject` of a binary that is judged by `record`. Raises `AuditError` if no decoder reads its code."""
    sets = instruction_sets(features_of(record.features).name, decoder_of(binary.architecture, binary.shown))
    allowed = frozenset(record.outside), Allowances(record.allow)
    return Subject(binary, sets, *allowed, record.levels, level, objects, record.module)


def audit_foreign(binary: Binary, baseline: Baseline, called: Iterable[str] = ()) -> Result:
    """Audit a binary without a record as code for CPUs with the features of `baseline`.

    `called` are the names of functions that other files of the same process may call at load.
    """
    decoder = decoder_of(binary.architecture, binary.shown)
    sets = instruction_sets(decoder.name, decoder)
    allowed = frozenset(baseline.features)
    subject = Subject(binary, sets, allowed, Allowances())
    code = subject.code
    exported = {symbol.name: symbol.address for symbol in binary.exports() if symbol.defined and symbol.visible}
    imports = [(address, "when imported") for name, address in exported.items() if name.startswith(IMPORTED)]
    others = [(exported[name], "when another file is loaded") for name in called if name in exported]
    load = at_load(subject, [*imports, *others])
    offenders = {}
    for number in range(len(code)):
        every = code.codes(number)
        if subject.is_undecodable(number, every):
            subject.count(number, [UNDECODABLE])
        if codes := subject.unsound(number, every, allowed):
            offenders[number] = codes
    findings = load.findings(foreign=True)
    bindable = set()
    for number, symbol, why in code.functions.bindable():
        body = code.body(number)
        codes = subject.unsound(body, code.codes(body), allowed) if number in offenders else frozenset()
        if codes and body not in load.offenders:
            bindable.add(number)
            finding = subject.finding_in("bindable", body, codes, allowed, "")
            findings.append(replace(finding, symbol=symbol.name, detail=why))
    for number, codes in offenders.items():
        if code.body(number) not in load.offenders and number not in bindable:
            subject.count(number, sets.missing(codes, allowed))
    subject.count_rest(())
    notes = []
    if pointer_callers := load.pointer_callers():
        what = "functions that the loader runs and that call through pointers, which are not followed"
        notes.append(f"{what}: {pointer_callers}")
    return Result(
        target=binary.shown,
        judged=f"no record of isagen in it; judged as code for {baseline.name}",
        findings=tuple(findings),
        counted=subject.counted,
        notes=tuple(notes),
        calls=frozenset(load.calls.keys() - {""}),
        exports=frozenset(exported),
        recorded=False,
    )
