"""The rule for what the loader runs: code that is reachable from a root keeps to the baseline."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from ..binary.protocol import Binding, within
from ..code.code import Code
from ..code.references import ResolvedReference
from ..processors.decoding import DIRECT, LEAVES, UNKNOWN, Codes, Kind
from .findings import Finding
from .subject import Subject

LONGEST_CHAIN = 64
NEAR = 8  # bytes between reading a variable and the branch that depends on it
# Variables, besides guards, that initialisers do not set: exception data, the module handle.
UNTOLD = ("DW.ref.", "__dso_handle")
# Weak functions that start-up code calls: glibc's crti.S, GCC's crtstuff.c.
START_UP = ("__gmon_start__", "_ITM_registerTMCloneTable", "_ITM_deregisterTMCloneTable", "__cxa_finalize")

# The address of a function that runs, and when.
Root = tuple[int, str]


@dataclass(frozen=True)
class AtLoad:
    """What is reachable from the roots.

    `beyond` are findings of functions that use instructions beyond the baseline, by number, and `calls` the names of
    external functions that are called. `others` are unproven findings, and `unknown` counts functions that call through
    pointers.
    """

    beyond: Mapping[int, Finding]
    others: Sequence[Finding]
    calls: frozenset[str]
    unknown: int

    def __contains__(self, number: object) -> bool:
        """Return whether a function is reachable from a root and goes beyond the baseline."""
        return number in self.beyond

    def values(self) -> Iterator[Finding]:
        """Yield all findings."""
        yield from self.beyond.values()
        yield from self.others


def load_findings(subject: Subject, roots: Sequence[Root] = (), *, foreign: bool = False) -> AtLoad:
    """Return what is reachable from the loader's roots, and from more `roots`, and goes beyond the baseline.

    A `foreign` file is not isagen's, so its dispatch is unknown: code behind a check counts as unproven there, and so
    does code beyond the baseline whose address reachable code takes.
    """
    reached = Reached(subject)
    reached.follow([*subject.code.pointers.called_by_loader(), *roots])
    return reached.judged(foreign)


@dataclass
class Reached:
    """The code that is reachable from the roots: what calls each function first, by the shortest chain of calls."""

    subject: Subject
    when: dict[int, str] = field(default_factory=dict)  # by function: when its root runs
    callers: dict[int, tuple[int, int]] = field(default_factory=dict)  # by function: the caller, and where it calls
    offenders: dict[int, Codes] = field(default_factory=dict)
    undecodable: list[int] = field(default_factory=list)
    names: dict[int, list[ResolvedReference]] = field(default_factory=dict)  # by function: its references
    calls: set[str] = field(default_factory=set)

    def follow(self, roots: Sequence[Root]) -> None:
        """Follow control from all roots at once."""
        code = self.subject.code
        waiting: deque[int] = deque()
        for address, when in dict.fromkeys(roots):
            self._reach(code.entry(address), when, None, waiting)
        while waiting:
            number = waiting.popleft()
            codes = code.codes(number)
            beyond = self.subject.unsound(number, codes, self.subject.baseline)
            if beyond and self.subject.is_checked(number):
                continue
            if (beyond or self.subject.allowances.entries) and self.subject.allowances.cover(code.name(number)):
                continue
            if beyond:
                self.offenders[number] = beyond
            elif self.subject.is_undecodable(number, codes):
                self.undecodable.append(number)
            self.names[number] = list(self.subject.references.of(number))
            for one in self.names[number]:
                if one.kind in DIRECT or one.kind is Kind.CALL:
                    self.calls.add(one.name)
                    if one.target:
                        self._reach(code.entry(one.target), self.when[number], (number, one.at), waiting)

    def _reach(self, number: int, when: str, caller: tuple[int, int] | None, waiting: deque[int]) -> None:
        if number >= 0 and number not in self.when:
            self.when[number] = when
            if caller is not None:
                self.callers[number] = caller
            waiting.append(number)

    def judged(self, foreign: bool) -> AtLoad:
        """Return the findings."""
        beyond, others = {}, []
        for number, codes in self.offenders.items():
            finding = self.described("load", number, codes)
            asked, guard, known = self._checks(number, finding.address)
            if asked:
                finding = replace(finding, detail=f"{finding.detail}, perhaps only where {asked} finds what it needs")
            elif guard:
                finding = replace(finding, detail=f"{finding.detail}, perhaps only where {guard} says so")
            if foreign and known:
                others.append(replace(finding, kind="unproven", cause="check"))
            else:
                beyond[number] = finding
        for number in self.undecodable:
            found = self.described("unproven", number, frozenset({self.subject.sets.decoder.invalid}))
            others.append(replace(found, cause="bytes", features=()))
        if foreign:
            others += self._taken()
        unknown = sum(map(self._calls_unknown, self.names.values()))
        return AtLoad(beyond, others, frozenset(self.calls - {""}), unknown)

    def _calls_unknown(self, listed: Sequence[ResolvedReference]) -> bool:
        """Return whether a function calls through a pointer, except a weak one that start-up code tests first."""
        spans = self.subject.code.pointers.spans
        return any(
            one.kind in UNKNOWN and not (before.name in START_UP or within(spans, before.target))
            for before, one in pairwise([ResolvedReference(0, Kind.END, 0, ""), *listed])
        )

    def described(self, kind: str, number: int, codes: Codes) -> Finding:
        """Return the finding of a function that uses `codes`, with what leads to it."""
        subject = self.subject
        finding = subject.finding(kind, number, codes, subject.baseline, subject.level_of(number))
        steps = self._steps(number, finding.address)
        # The variable is referenced before the chain's next call, or near the instruction.
        names = (self._variable(step, place, step == number) for step, place in steps)
        return replace(
            finding,
            detail=f"runs {self.when[number]}",
            path=tuple(subject.code.name(step) for step, _ in steps),
            variable=next(filter(None, names), ""),
        )

    def _steps(self, number: int, address: int) -> list[tuple[int, int]]:
        """Return the chain of calls to an instruction of a function, each with the address of the call."""
        steps = [(number, address)]
        while steps[0][0] in self.callers and len(steps) < LONGEST_CHAIN:
            steps.insert(0, self.callers[steps[0][0]])
        return steps

    # ---- what the chain of calls tells

    def _checks(self, number: int, address: int) -> tuple[str, str, bool]:
        """Return the function that detects the CPU before an address, a variable tested before it, and whether the
        variable is known to contain CPU features.
        """
        code, known = self.subject.code, self.subject.sets.rules.cpu_checks.variables
        steps = self._steps(number, address)
        for guard in _guards_before(code, steps):
            name = code.variables.name_at(guard)
            if name.startswith(known):
                return "", name, True
            if not self._is_untold(name):
                return self._asked(number, address), name or f"the variable at {guard:#x}", False
        return self._asked(number, address), "", False

    def _is_untold(self, name: str) -> bool:
        """Return whether a variable says nothing of what an initialiser sets."""
        return self.subject.binary.mangling.is_guard(name) or name.startswith(UNTOLD)

    def _asked(self, number: int, address: int) -> str:
        """Return the function that asks what the CPU has before control comes to an address; "" if none does."""
        references, code = self.subject.references, self.subject.code
        for step, place in self._steps(number, address):
            if references.detects_features(step):
                return code.name(step)
            for one in self.names[step]:
                if one.at < place and one.kind in DIRECT and one.target:
                    callee = code.entry(one.target)
                    if references.detects_features(callee):
                        return code.name(callee)
        return ""

    def _variable(self, number: int, address: int, after_too: bool) -> str:
        """Return the variable that a function initialises near an address; nothing where that is unknown.

        A local variable is preferred to a global one.
        """
        listed = [one for one in self.names.get(number, ()) if one.kind in (Kind.WRITE, Kind.ADDRESS)]
        before = [one.target for one in reversed(listed) if one.at <= address]
        after = [one.target for one in listed if one.at > address] if after_too else []
        found: dict[bool, str] = {}
        for target in (*before, *after):
            section, symbol = self.subject.binary.section_at(target), self.subject.code.variables.symbol_at(target)
            if section is not None and section.writable and not section.constant and symbol is not None:
                name = self.subject.binary.name(symbol)
                if not self._is_untold(name):
                    found.setdefault(symbol.binding == Binding.LOCAL, name)
        return found.get(True) or found.get(False, "")

    # ---- addresses of code

    def _taken(self) -> Iterator[Finding]:
        """Yield code beyond the baseline whose address reachable code takes, directly or in data.

        Whether that code runs at load is unknown.
        """
        code, references = self.subject.code, self.subject.references
        seen: set[int] = set()
        looked: set[int] = set()  # variables that other findings stand for, or that hold no such code
        for number, listed in self.names.items():
            for one in listed:
                if one.kind is not Kind.ADDRESS or not one.target or one.target in seen:
                    continue
                seen.add(one.target)
                is_code = code.functions.is_code(one.target)
                pointed = () if is_code else references.code_reachable_from(one.target, looked)
                held = [one.target] if is_code else [address for address, _ in pointed]
                found = {target: self._beyond(target) for target in map(code.entry, dict.fromkeys(held)) if target >= 0}
                first = next((target for target, codes in found.items() if codes), None)
                if first is None:
                    continue
                many = sum(map(bool, found.values()))
                name = code.variables.name_at(one.target) or f"the data at {one.target:#x}"
                what = (
                    "its address is taken" if is_code else f"{name} holds its address" + f", one of {many}" * (many > 1)
                )
                finding = self.subject.finding("unproven", first, found[first], self.subject.baseline, "")
                path = tuple(code.name(step) for step, _ in self._steps(number, one.at))
                detail = f"{what}, by code that runs {self.when[number]}"
                yield replace(finding, cause="pointer", detail=detail, path=(*path, finding.symbol))

    def _beyond(self, number: int) -> Codes:
        """Return the codes beyond the baseline of an unreached function."""
        if number in self.when or self.subject.is_checked(number):
            return frozenset()
        return self.subject.unsound(number, self.subject.code.codes(number), self.subject.baseline)


def _guards_before(code: Code, steps: Iterable[tuple[int, int]]) -> list[int]:
    """Return the addresses of the variables that guard a chain of calls.

    Each step is a function and an address in it. A branch on a guard jumps over the address, or to a block with the
    address that no code falls through to.
    """
    found = []
    for number, place in steps:
        listed = [one for start, raw in code.raw(number) for one in code.decoder.references(raw, start)]
        for flag, branch in pairwise(listed):
            if flag.kind is not Kind.FLAG or branch.kind is not Kind.BRANCH or branch.at - flag.after > NEAR:
                continue
            between = (one for one in listed if branch.at < one.at < branch.address <= place)
            skips = branch.at < place < branch.address
            section = code.binary.section_at(flag.address)
            if section is None or not section.writable or section.constant or within(code.pointers.spans, flag.address):
                continue
            if skips or any(one.kind in LEAVES for one in between):
                found.append(flag.address)
    return found
