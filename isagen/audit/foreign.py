"""Auditing files without a record: findings by certainty, since it is unknown what is dispatched and how."""

from __future__ import annotations

from collections import Counter

from ..binary.protocol import Binary
from ..model.frozen import replace
from ..processors.features import read_features
from ..processors.instruction_sets import InstructionSets
from ..processors.registry import decoder_of
from .allowances import Allowances
from .baseline import Baseline
from .by_level import uncovered
from .findings import UNDECODABLE, Result
from .reachable import load_findings
from .subject import Subject


def audit_foreign(binary: Binary, baseline: Baseline) -> Result:
    """Audit a binary of which nothing is known but the `baseline` that it should run on."""
    decoder = decoder_of(binary.architecture, binary.shown)
    sets = InstructionSets(read_features(decoder.name), decoder)
    allowed = frozenset(baseline.features)
    subject = Subject(binary, sets, allowed, Allowances())
    code = subject.code
    load = load_findings(subject, everywhere=True)
    beyond = sets.beyond(allowed)
    counted: Counter[str] = Counter()
    offenders = {}
    for number in range(len(code)):
        every = code.codes(number)
        if subject.is_undecodable(number, every):
            counted[UNDECODABLE] += 1
        if every & beyond:
            offenders[number] = every & beyond
    findings = list(load.values())
    bound = set()
    for number, symbol, why in code.functions.bindable():
        body = code.body(number)
        codes = code.codes(body) & beyond if number in offenders else frozenset()
        if codes and body not in load:
            bound.add(number)
            finding = subject.finding("bindable", body, codes, allowed, "")
            findings.append(replace(finding, symbol=binary.name(symbol), detail=why))
    for number, codes in offenders.items():
        if code.body(number) not in load and number not in bound:
            counted.update(sets.missing(codes, allowed))
    counted.update(uncovered(subject))
    judged = f"no record of isagen in it; judged as code for {baseline.name}"
    return Result(binary.shown, judged, tuple(findings), dict(counted))
