"""The rule for code that is reachable from a root: what the loader runs must keep to the baseline."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from ..processors.decoding import Codes
from .findings import Finding
from .references import Event
from .subject import Subject

LONGEST_CHAIN = 64
# Variables that say nothing of what an initialiser sets: of exceptions and guards (Itanium C++ ABI), and of the module.
UNTOLD = ("DW.ref.", "_ZGV")
MODULE = "__dso_handle"

# By a function's number, the one that calls it first and the address of the call.
Callers = Mapping[int, tuple[int, int]]


def load_findings(subject: Subject) -> dict[int, Finding]:
    """Return what is reachable from the loader's roots and goes beyond the baseline, by the function's number."""
    code, beyond = subject.code, subject.sets.beyond(subject.baseline)
    chains = _Chains(subject)
    found: dict[int, Finding] = {}
    seen: set[int] = set()
    for address, when in _roots(subject):
        first = code.entry(address)
        callers: dict[int, tuple[int, int]] = {}
        waiting = [first] if first >= 0 else []
        while waiting:
            number = waiting.pop()
            if number in seen:
                continue
            seen.add(number)
            codes = code.codes(number) & beyond
            if codes and subject.is_checked(number):
                continue
            if (codes or subject.allowances.entries) and subject.allowances.cover(code.name(number)):
                continue
            if codes:
                found[number] = chains.describe(when, number, codes, callers)
            for place, what, target in subject.references.events(number):
                if what == "call" and (callee := code.entry(target)) >= 0 and callee not in seen:
                    callers.setdefault(callee, (number, place))
                    waiting.append(callee)
    return found


def _roots(subject: Subject) -> Iterator[tuple[int, str]]:
    """Yield what the loader runs, before a check of the CPU, or at exit whatever it found: (address, when)."""
    yield from dict.fromkeys(subject.code.pointers.called_by_loader())


class _Chains:
    """The chains of calls that lead from roots to findings, and what they tell of these."""

    def __init__(self, subject: Subject) -> None:
        self._subject = subject
        self._code = subject.code
        self._known: dict[int, tuple[Event, ...]] = {}

    def describe(self, when: str, number: int, codes: Codes, callers: Callers) -> Finding:
        """Return the finding of a function that runs `when` the root does, and uses `codes`."""
        subject = self._subject
        finding = subject.finding("load", number, codes, subject.baseline, subject.level_of(number))
        steps = [(number, finding.address)]
        while steps[0][0] in callers and len(steps) < LONGEST_CHAIN:
            steps.insert(0, callers[steps[0][0]])
        path = tuple(self._code.name(step) for step, _ in steps)
        # The variable is named before the call that leads on, or near the instruction itself.
        names = (self._variable(step, address, step == number) for step, address in steps)
        variable = next((name for name in names if name), "")
        asked = self._asked(steps)
        detail = f"runs {when}" + (f", perhaps only where {asked} finds what it needs" if asked else "")
        return replace(finding, detail=detail, path=path, variable=variable)

    def _events(self, number: int) -> tuple[Event, ...]:
        """Return what a function on the way to a finding does; most are on the way to many."""
        if number not in self._known:
            self._known[number] = tuple(self._subject.references.events(number))
        return self._known[number]

    def _asked(self, steps: Iterable[tuple[int, int]]) -> str:
        """Return the function that asks what the CPU has before a chain of calls goes on; nothing if none does."""
        asks = self._subject.references.asks
        for number, address in steps:
            if asks(number):
                return self._code.name(number)
            for at, what, target in self._events(number):
                if what == "call" and at < address and asks(callee := self._code.entry(target)):
                    return self._code.name(callee)
        return ""

    def _variable(self, number: int, address: int, after_too: bool) -> str:
        """Return the variable that a function initialises near an address; nothing where that is unknown."""
        data = [event for event in self._events(number) if event[1] != "call"]
        return next(filter(None, map(self._variable_at, _nearest(data, address, after_too))), "")

    def _variable_at(self, address: int) -> str:
        section = self._code.binary.section_at(address)
        if section is None or not section.writable:
            return ""
        name = self._code.variables.name_at(address)
        return "" if name == MODULE or name.startswith(UNTOLD) else name


def _nearest(data: Sequence[Event], address: int, after_too: bool) -> list[int]:
    """Return the addresses of data that code uses, the nearest before an instruction first.

    With `after_too` the code itself sets the data: what it sets comes before what it only points to.
    """
    if not after_too:
        return [target for at, _, target in reversed(data) if at <= address]
    after = [event for event in data if event[0] > address]
    return [target for what in ("set", "point") for _, how, target in [*reversed(data), *after] if how == what]
