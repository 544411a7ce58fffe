"""The audit of a file without a record, whose dispatch is unknown: findings are either certain or unproven."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ..binary.reader import Binary
from ..processors.instruction_sets import instruction_sets
from ..processors.registry import decoder_of
from .allowances import Allowances
from .findings import UNDECODABLE, Result
from .reachable import at_load
from .records import Baseline
from .subject import Subject

# The prefix of the function that Python calls when it imports a module.
IMPORTED = "PyInit_"


def audit_foreign(binary: Binary, baseline: Baseline, called: Iterable[str] = ()) -> Result:
    """Audit a binary without a record by the `baseline` that it should run on.

    `called` are the names of functions that other files of the same process may call when they are loaded.
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
            finding = subject.finding("bindable", body, codes, allowed, "")
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
