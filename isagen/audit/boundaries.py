"""The rules for what passes between levels: calls past stubs, and weak symbols."""

from __future__ import annotations

import re

from ..binary.protocol import MERGEABLE
from ..binary.spans import within
from ..model.names import level_of_section
from .demangle import demangle
from .findings import Finding
from .subject import Subject

Span = tuple[int, int, str]  # first address, address after the last, level


def past_stubs(subject: Subject) -> list[Finding]:
    """Return functions of levels that code outside their level calls by name, once each."""
    above = {level for level, needed in subject.levels.items() if not subject.baseline.issuperset(needed)}
    spans = [
        (section.address, section.address + section.size, level)
        for section in subject.binary.sections
        if section.executable and (level := level_of_section(section.name))
    ]
    code, references = subject.code, subject.references
    found: dict[int, Finding] = {}
    for number in subject.numbers() if spans else ():
        caller = subject.level_of(number)
        if within(code.pointers.jumps, code.start(number)):
            continue  # `calls` goes through them
        if all(_level_at(spans, address, caller) == caller for address in references.leads(number)):
            continue
        for address, target in references.calls(number):
            level = _level_at(spans, target, caller)
            callee = code.functions.at(target)
            if level != caller and level in above and callee not in found:
                finding = _past_stub(subject, number, address, callee, level)
                if finding is not None:
                    found[callee] = finding
    return list(found.values())


def _level_at(spans: list[Span], address: int, otherwise: str) -> str:
    return next((level for start, end, level in spans if start <= address < end), otherwise)


def _past_stub(subject: Subject, number: int, address: int, callee: int, level: str) -> Finding | None:
    """Return the finding of a call, by function `number` at `address`; None where an entry of isa.toml allows it."""
    symbol, name = subject.code.name(callee), subject.code.name(number)
    if subject.allowances.cover(symbol) or subject.allowances.cover(name):
        return None
    place, kernel = subject.origin(symbol, level)
    why = f"called by {demangle(name)} at {address:#x}, of {subject.level_of(number) or 'no level'}"
    return Finding("past", symbol, why, level, place, kernel)


def borrowed(subject: Subject) -> list[Finding]:
    """Return functions of sealed levels that other objects can still borrow."""
    binary = subject.binary
    found = []
    for symbol in binary.symbols():
        if not symbol.defined or symbol.binding not in MERGEABLE:
            continue
        number = subject.code.functions.at(symbol.address)
        if number < 0 or not (level := subject.level_of(number)):
            continue
        name = binary.name(symbol)
        # Sealed names end in the level and the project's number; hidden ones are out of reach after the link.
        own = re.search(rf"\.{re.escape(level.lower())}\.\d+\Z", name)
        if symbol.visible or (binary.relocatable and not own):
            place, kernel = subject.origin(name, level)
            found.append(Finding("shared", name, "it is still weak", level, place, kernel))
    return found
