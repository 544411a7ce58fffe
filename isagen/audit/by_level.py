"""The rule for all code: a function uses what its level, or the baseline, allows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Container, Iterable
from dataclasses import dataclass, field

from .chosen import chosen
from .findings import UNDECODABLE, Finding
from .subject import Subject


@dataclass
class Counted:
    """Functions that are not judged, by the feature that they need or UNDECODABLE: their names."""

    names: dict[str, list[str]] = field(default_factory=dict)

    def add(self, subject: Subject, number: int, features: Collection[str]) -> None:
        """Add a function by each of the features."""
        for feature in features:
            self.names.setdefault(feature, []).append(subject.code.name(number))

    def rest(self, subject: Subject, pieces: Iterable[int]) -> None:
        """Add code in no function, and in none of the `pieces`, by what it would need if it were code."""
        for address, raw in subject.code.rest(pieces):
            number = subject.code.functions.at(address)
            allowed = subject.allowed_at(subject.level_of(number))
            codes = subject.sets.unsound(subject.sets.decoder.codes(raw, address), allowed)
            for feature in subject.sets.missing(codes, allowed):
                self.names.setdefault(feature, []).append(f"code at {address:#x}")

    def numbers(self) -> Counter[str]:
        """Return how many there are of each."""
        return Counter({key: len(names) for key, names in self.names.items()})


def level_findings(
    subject: Subject, skip: Container[int], counted: Counted, others: Collection[str] | None = None
) -> list[Finding]:
    """Judge every function by its level; return findings, and add to `counted` what cannot be judged.

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
            counted.add(subject, number, [UNDECODABLE])
        codes = subject.unsound(number, every, allowed)
        if not codes or (code.body(number) in skip and not level):
            continue
        if others is not None and code.name(number) in others:
            continue
        missing = sets.missing(codes, allowed)
        if _is_unknown(subject, number, level, others is not None) or behind.covers(number, missing):
            counted.add(subject, number, missing)
        elif not subject.allowances.cover(code.name(number)):
            found.append(
                behind.finding(number, subject.finding("level" if level else "baseline", number, codes, allowed, level))
            )
    counted.rest(subject, subject.references.pieces)
    return found


def _is_unknown(subject: Subject, number: int, level: str, unsealed: bool) -> bool:
    """Return whether the rule cannot judge a function: its name is lost, or it is a checked one of the toolchain."""
    if (subject.nameless_allowed or unsealed) and not subject.code.named(number):
        return True
    return not level and subject.is_checked(number)
