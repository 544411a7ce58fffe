"""The rule for all code: a function uses what its level, or the baseline, allows.

Functions that resolvers choose from after they asked the CPU run behind a check.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Container, Iterator

from ..binary.pointing import within
from ..processors.decoding import Codes
from .findings import UNDECODABLE, Finding
from .references import References
from .subject import Subject


def level_findings(
    subject: Subject, skip: Container[int], others: Collection[str] | None = None
) -> tuple[list[Finding], Counter[str]]:
    """Judge every function by its level; return findings, and what cannot be judged, counted by feature.

    `skip` are functions of no level that are found already. `others` are functions of levels whose code is not in
    sections of its own: judged elsewhere, by their objects.
    """
    code, sets = subject.code, subject.sets
    found: list[Finding] = []
    counted: Counter[str] = Counter()
    chosen = Dispatched(subject.references).chosen()
    for number in subject.numbers():
        level = subject.level_of(number)
        allowed = subject.allowed_at(level)
        every = code.codes(number)
        codes = every & sets.beyond(allowed)
        if subject.is_undecodable(number, every):
            counted[UNDECODABLE] += 1
        if not codes or (code.body(number) in skip and not level):
            continue
        if others is not None and code.name(number) in others:
            continue
        if number in chosen or _is_unknown(subject, number, level, others is not None):
            counted.update(sets.missing(codes, allowed))
        elif not subject.allowances.cover(code.name(number)):
            found.append(subject.finding("level" if level else "baseline", number, codes, allowed, level))
    for address, raw in subject.gaps.rest(subject.gaps.pieces):
        allowed = subject.allowed_at(subject.level_of(code.functions.at(address)))
        counted.update(sets.missing(_codes(subject, raw, address) & sets.beyond(allowed), allowed))
    return found, counted


def _is_unknown(subject: Subject, number: int, level: str, unsealed: bool) -> bool:
    """Return whether the rule cannot judge a function: its name is lost, or it is a checked one of the toolchain."""
    if (subject.nameless_allowed or unsealed) and not subject.code.named(number):
        return True
    return not level and subject.is_checked(number)


def uncovered(subject: Subject) -> Counter[str]:
    """Return what code that no function and nothing that leads to it covers would need, counted by feature."""
    counted: Counter[str] = Counter()
    beyond = subject.sets.beyond(subject.baseline)
    for address, raw in subject.gaps.rest():
        counted.update(subject.sets.missing(_codes(subject, raw, address) & beyond, subject.baseline))
    return counted


def _codes(subject: Subject, raw: bytes, address: int) -> Codes:
    return subject.sets.decoder.codes(raw, address)


class Dispatched:
    """The functions that run only where a resolver of a binary chose them by what the CPU has."""

    def __init__(self, references: References) -> None:
        self._references = references
        self._code = references.code

    def chosen(self) -> frozenset[int]:
        """Return the functions that resolvers which ask the CPU choose, and that nothing else leads to."""
        asking: set[int] = set()  # resolvers that ask, and what they call to choose
        blind: set[int] = set()  # what others choose
        found: set[int] = set()
        for address in self._code.pointers.resolvers:
            number = self._code.entry(address)
            if number < 0:
                continue
            parts = {number, *self._called(number)}
            if any(map(self._references.asks, parts)) or (self._code.binary.stripped and any(map(self._reads, parts))):
                asking |= parts
                found.update(choice for part in parts for choice in self._pointed(part))
            else:
                blind.update(choice for part in parts for choice in self._pointed(part))
        found -= blind | asking
        return frozenset(found - self._led_to(found, asking) if found else found)

    def _reads(self, number: int) -> bool:
        """Return whether a function reads a variable: in a stripped file, no name tells what such a variable holds."""
        section_at = self._code.binary.section_at
        for instruction in self._code.decode(number):
            place = self._code.decoder.effect(instruction).place
            if place is not None and place.relative and not place.written:
                section = section_at(place.offset)
                if section is not None and section.writable and not within(self._code.pointers.spans, place.offset):
                    return True
        return False

    def _called(self, number: int) -> Iterator[int]:
        for _, what, target in self._references.events(number):
            if what == "call" and (callee := self._code.entry(target)) >= 0:
                yield callee

    def _pointed(self, number: int) -> Iterator[int]:
        """Yield the functions whose addresses a function takes."""
        for instruction in self._code.decode(number):
            target = self._references.pointed(instruction)
            if target and (choice := self._code.functions.starting_at(target)) >= 0:
                yield choice

    def _led_to(self, chosen: set[int], asking: set[int]) -> set[int]:
        """Return those of the `chosen` that other code calls, or that it or data holds the address of."""
        starts = {self._code.start(number): number for number in chosen}
        found: set[int] = set()
        spans = self._code.pointers.spans
        for place, target in self._references.stored.items():
            if target in starts and not within(spans, place):
                found.add(starts[target])
        for number in range(len(self._code)):
            if number in asking or number in chosen or within(self._code.pointers.jumps, self._code.start(number)):
                continue
            found.update(starts[one] for one in self._leads(number) if one in starts)
        return found

    def _leads(self, number: int) -> Iterator[int]:
        """Yield the addresses that a function calls, jumps to or takes."""
        if not self._code.binary.relocatable:
            yield from self._references.leads(number)
            return
        for instruction in self._code.decode(number):
            yield self._references.called(instruction)[0] or self._references.pointed(instruction)
