"""The rule for all code: a function uses only features of its level, of the baseline, or that its resolvers test.

A resolver (ifunc) chooses a function when the file is loaded, only where the CPU has the features that it tests.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Mapping
from dataclasses import replace

from ..binary.contents import within
from ..processors.decoding import DIRECT, Kind
from ..processors.instructions import have, normal_name
from .findings import UNDECODABLE, Finding
from .subject import Subject

READS = (Kind.READ, Kind.FLAG, Kind.ADDRESS)


# By the number of a function: the features that all of its resolvers test, or None if they are unknown.
Tested = Mapping[int, frozenset[str] | None]


def chosen(subject: Subject) -> tuple[Tested, Collection[int]]:
    """Return the functions that are reached only through resolvers that test CPU features, and which are trusted.

    A function is trusted if its resolver is assumed to test the right features: if the resolver uses the C library's
    detection, or if the file is stripped, so that no name shows what the resolver tests.
    """
    code, references = subject.code, subject.references
    stripped = subject.binary.stripped
    testing: set[int] = set()  # resolvers that test features, and the functions that they call
    untested: set[int] = set()  # functions that other resolvers choose
    tested: dict[int, frozenset[str] | None] = {}
    trusted: set[int] = set()
    for address in code.pointers.resolvers:
        number = code.entry(address)
        if number < 0:
            continue
        callees = (code.entry(reference.target) for reference in references.of(number) if reference.kind in DIRECT)
        parts = {number, *callees} - {-1}
        taken = (
            code.functions.starting_at(reference.target)
            for part in parts
            for reference in references.of(part)
            if reference.kind is Kind.ADDRESS
        )
        choices = {number for number in taken if number >= 0}
        detects = code.decoder.passes_features or any(map(references.detects_features, parts))
        if not detects and not (stripped and any(_reads(subject, part) for part in parts)):
            untested |= choices
            continue
        testing |= parts
        if stripped or any(references.detects_features(part, libc_only=True) for part in parts):
            trusted |= choices
        features = _tested_features(subject, parts)
        for choice in choices:
            before = tested.get(choice, features)
            tested[choice] = None if features is None or before is None else features & before
    for number in untested | testing:
        tested.pop(number, None)
    for number in _reached_otherwise(subject, tested, testing) if tested else ():
        tested.pop(number, None)
    return tested, trusted & tested.keys()


def _reads(subject: Subject, number: int) -> bool:
    """Return whether a function refers to writable data, which in a stripped file may contain CPU features."""
    targets = (reference.target for reference in subject.references.of(number) if reference.kind in READS)
    return any(section is not None and section.writable for section in map(subject.binary.section_at, targets))


def _tested_features(subject: Subject, parts: Collection[int]) -> frozenset[str] | None:
    """Return the features, also implied ones, that a resolver and its callees (`parts`) test; None if unknown."""
    code, checks = subject.code, subject.sets.rules.cpu_checks
    words: dict[int, int] = {}  # by the address of a word of CPU features: the number of its first bit
    slots: dict[int, int] = {}  # by the address of a GOT slot: the address of the word to which it points
    for symbol in subject.binary.symbols():
        if symbol.defined and (name := symbol.name) in checks.words:
            words.update((symbol.address + 4 * n, first) for n, first in enumerate(checks.words[name]))
    starts = set(words)
    for start, end in code.pointers.slot_ranges:
        targets = ((slot, code.pointers.follow(slot).address) for slot in range(start, end - 7, 8))
        slots.update((slot, target) for slot, target in targets if target in starts)
    bits: set[int] = set()
    for part in parts:
        if code.name(part) in checks.functions:
            continue  # a function of the toolchain finds all features: it does not show which the resolver tests
        if any(reference.kind is Kind.CPU_CHECK for reference in subject.references.of(part)):
            return None
        for start, raw in code.raw(part):
            bits |= code.decoder.tested_bits(raw, start, words, slots)
    if not bits or min(bits) < 0 or max(bits) >= len(checks.bits):
        return None
    return frozenset(map(normal_name, subject.sets.having(checks.bits[bit] for bit in bits)))


def _reached_otherwise(subject: Subject, choices: Collection[int], testing: Collection[int]) -> set[int]:
    """Return the `choices` that other code or data refers to."""
    code, references = subject.code, subject.references
    starts = {code.start(number): number for number in choices}
    slots, plt = code.pointers.slot_ranges, code.pointers.plt_ranges
    pointers = references.data_pointers.items()
    reached = {starts[to] for place, to in pointers if to in starts and not within(slots, place)}
    for number in range(len(code)):
        if number in testing or number in choices or within(plt, code.start(number)):
            continue
        reached.update(starts[target] for target in references.possible_targets(number) if target in starts)
    return reached


# ---- the rule


def level_findings(subject: Subject, skip: Container[int]) -> list[Finding]:
    """Judge every function by its level. Count those that need more but are checked, chosen by a resolver or nameless.

    A function outside levels that is in `skip` has a finding already, and gets no second one.
    """
    code, sets = subject.code, subject.sets
    findings: list[Finding] = []
    tested, trusted = chosen(subject)
    for number in subject.numbers():
        level = subject.level_of(number)
        allowed = subject.allowed_at(level)
        if subject.levels_are_lost:  # after the code that the function's start reaches, a level's code may follow
            number = code.body(number)
        every = code.codes(number)
        if subject.is_undecodable(number, every):
            subject.count(number, [UNDECODABLE])
        codes = subject.unsound(number, every, allowed)
        if not codes or (code.body(number) in skip and not level):
            continue
        missing = sets.missing(codes, allowed)
        of_toolchain = subject.binary.stripped and sets.rules.nameless.keys() >= set(missing)
        nameless = (subject.nameless_may_be_allowed or of_toolchain) and code.symbol(number) is None
        checked = not level and subject.is_checked(number)
        if nameless or checked or number in trusted or have(tested.get(number) or (), missing):
            subject.count(number, missing)
        elif not subject.allowances.allows(code.name(number)):
            finding = subject.finding_in("level" if level else "baseline", number, codes, allowed, level)
            findings.append(_described(finding, tested[number]) if number in tested else finding)
    subject.count_rest(subject.references.reached_pieces)
    return findings


def _described(finding: Finding, tested: Collection[str] | None) -> Finding:
    if tested is None:
        detail = "a resolver chooses it; which features the resolver tests is unknown"
        return replace(finding, kind="unproven", cause="question", detail=detail)
    names = " ".join(sorted(tested))
    return replace(
        finding, detail=f"its resolver tests only {names}" if names else "its resolvers test no known feature in common"
    )
