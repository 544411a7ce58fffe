"""The rule for all code: a function uses what its level, or the baseline, allows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Container

from ..processors.decoding import Codes
from .dispatched import Dispatched
from .findings import UNDECODABLE, Finding
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
