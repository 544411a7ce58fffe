"""The rule for all code: a function uses what its level, or the baseline, allows."""

from __future__ import annotations

from collections.abc import Collection, Container

from .chosen import chosen
from .findings import UNDECODABLE, Finding
from .subject import Subject


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
        nameless = (subject.nameless_allowed or others is not None) and not code.named(number)
        checked = not level and subject.is_checked(number)
        if nameless or checked or behind.covers(number, missing):
            subject.count(number, missing)
        elif not subject.allowances.cover(code.name(number)):
            kind = "level" if level else "baseline"
            found.append(behind.finding(number, subject.finding(kind, number, codes, allowed, level)))
    subject.count_rest(subject.references.pieces)
    return found
