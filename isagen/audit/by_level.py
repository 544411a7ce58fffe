"""The rule for all code: a function uses what its level, or the baseline, allows; or an ifunc resolver chose it.

What a resolver chooses runs behind a check of what the resolver asks the CPU for.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Iterator, Mapping
from dataclasses import dataclass, field, replace

from ..binary.protocol import within
from ..processors.decoding import DIRECT, Kind
from ..processors.instructions import normal
from .findings import UNDECODABLE, Finding
from .subject import Subject

READS = (Kind.READ, Kind.FLAG, Kind.ADDRESS)


@dataclass(frozen=True)
class Chosen:
    """The functions that run only if a resolver chooses them, by number, with the features that it checks; None if
    these are unknown. Resolvers of the C library are taken to ask for what they choose, and so are those of stripped
    files, where no name tells what they ask for: those are `trusted`.
    """

    asked: Mapping[int, frozenset[str] | None] = field(default_factory=dict)
    trusted: Collection[int] = ()

    def covers(self, number: int, features: Collection[str]) -> bool:
        """Return whether a function runs only where the CPU has the features."""
        asked = self.asked.get(number)
        return number in self.trusted or (asked is not None and {normal(name) for name in features} <= asked)

    def finding(self, number: int, finding: Finding) -> Finding:
        """Return the finding of a function, by what its resolver checks."""
        if number not in self.asked:
            return finding
        asked = self.asked[number]
        if asked is None:
            detail = "a resolver chooses it, and it is unknown for which features"
            return replace(finding, kind="unproven", cause="question", detail=detail)
        return replace(finding, detail=f"a resolver chooses it that asks for {' '.join(sorted(asked)) or 'no feature'}")


def chosen(subject: Subject) -> Chosen:
    """Return the functions that only resolvers with a check of the CPU lead to."""
    code, references = subject.code, subject.references
    asking: set[int] = set()  # resolvers that ask, and what they call to choose
    blind: set[int] = set()  # what others choose
    found: dict[int, frozenset[str] | None] = {}
    trusted: set[int] = set()
    for address in code.pointers.resolvers:
        number = code.entry(address)
        if number < 0:
            continue
        parts = {number, *(code.entry(one.target) for one in references.of(number) if one.kind in DIRECT)} - {-1}
        choices = {choice for part in parts for choice in _pointed(subject, part)}
        detects = any(map(references.detects_features, parts))
        if detects or (code.binary.stripped and any(_reads(subject, part) for part in parts)):
            asking |= parts
            if code.binary.stripped or any(references.detects_features(part, libc_only=True) for part in parts):
                trusted |= choices
            asked = _asked(subject, parts)
            for choice in choices:
                known = found.get(choice, frozenset())
                found[choice] = None if asked is None or known is None else asked | known
        else:
            blind |= choices
    for number in blind | asking:
        found.pop(number, None)
    for number in _led_to(subject, found, asking) if found else ():
        found.pop(number, None)
    return Chosen(found, trusted & found.keys())


def _pointed(subject: Subject, number: int) -> Iterator[int]:
    """Yield the functions whose addresses a function takes."""
    for one in subject.references.of(number):
        if one.kind is Kind.ADDRESS and (choice := subject.code.functions.starting_at(one.target)) >= 0:
            yield choice


def _reads(subject: Subject, number: int) -> bool:
    """Return whether a function reads a variable, whose meaning is unknown in a stripped file."""
    for one in subject.references.of(number):
        section = subject.binary.section_at(one.target) if one.kind in READS else None
        if section is not None and section.writable:
            return True
    return False


def _asked(subject: Subject, parts: Collection[int]) -> frozenset[str] | None:
    """Return the features that a resolver's `parts` ask for, and those that CPUs with these have; None if unknown."""
    code, asked = subject.code, subject.sets.rules.cpu_checks
    words: dict[int, int] = {}
    slots: dict[int, int] = {}
    for symbol in subject.binary.symbols():
        if symbol.defined and (name := subject.binary.name(symbol)) in asked.words:
            words.update((symbol.address + 4 * n, first) for n, first in enumerate(asked.words[name]))
    starts = set(words)
    for start, end in code.pointers.spans:
        targets = ((slot, code.pointers.follow(slot).address) for slot in range(start, end - 7, 8))
        slots.update((slot, target) for slot, target in targets if target in starts)
    bits: set[int] = set()
    for part in parts:
        if code.name(part) in asked.functions:
            continue  # the toolchain's own
        if any(one.kind is Kind.QUESTION for one in subject.references.of(part)):
            return None
        for start, raw in code.raw(part):
            bits |= code.decoder.tested_bits(raw, start, words, slots)
    if not bits or min(bits) < 0 or max(bits) >= len(asked.bits):
        return None
    return frozenset(map(normal, subject.sets.having(asked.bits[bit] for bit in bits)))


def _led_to(subject: Subject, found: Collection[int], asking: Collection[int]) -> set[int]:
    """Return those of the functions `found` that other code calls, or that it or data holds the address of."""
    code, references = subject.code, subject.references
    starts = {code.start(number): number for number in found}
    spans, jumps = code.pointers.spans, code.pointers.jumps
    led = {starts[to] for place, to in references.data_pointers.items() if to in starts and not within(spans, place)}
    for number in range(len(code)):
        if number in asking or number in found or within(jumps, code.start(number)):
            continue
        relocatable = subject.binary.relocatable
        leads = (one.target for one in references.of(number)) if relocatable else references.possible_targets(number)
        led.update(starts[one] for one in leads if one in starts)
    return led


# ---- the rule


def level_findings(subject: Subject, skip: Container[int], others: Collection[str] | None = None) -> list[Finding]:
    """Judge every function by its level, and count what cannot be judged.

    `skip` are functions of no level that are found already. `others` are functions of levels whose code is not in
    sections of its own: judged elsewhere, by their objects.
    """
    code, sets = subject.code, subject.sets
    found: list[Finding] = []
    behind = chosen(subject)
    for number in subject.numbers():
        level = subject.level_of(number)
        allowed = subject.allowed_at(level)
        every = code.codes(number)
        if subject.is_undecodable(number, every):
            subject.count(number, [UNDECODABLE])
        codes = subject.unsound(number, every, allowed)
        if (
            not codes
            or (code.body(number) in skip and not level)
            or (others is not None and code.name(number) in others)
        ):
            continue
        missing = sets.missing(codes, allowed)
        nameless = (subject.nameless_allowed or others is not None) and code.symbol(number) is None
        checked = not level and subject.is_checked(number)
        if nameless or checked or behind.covers(number, missing):
            subject.count(number, missing)
        elif not subject.allowances.cover(code.name(number)):
            kind = "level" if level else "baseline"
            found.append(behind.finding(number, subject.finding(kind, number, codes, allowed, level)))
    subject.count_rest(subject.references.pieces)
    return found
