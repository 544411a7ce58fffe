"""The rule for code that runs at load or exit: it uses only features of the baseline.

A root is a function where such code starts: the loader calls it, or Python or another file calls it at load.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from ..binary import mangling
from ..binary.contents import Binding, within
from ..code.references import ResolvedReference
from ..processors.decoding import DIRECT, LEAVES, UNKNOWN, Codes, Kind
from .findings import Finding
from .subject import Subject

LONGEST_CHAIN = 64  # the most steps of a chain of calls that are collected
NEAR = 8  # the most bytes between reading a variable and the branch that depends on it
# Prefixes of variables that compilers add: exception data, the module handle.
COMPILERS_OWN = ("DW.ref.", "__dso_handle")
# Weak functions that start-up code calls: glibc's crti.S, GCC's crtstuff.c.
START_UP = ("__gmon_start__", "_ITM_registerTMCloneTable", "_ITM_deregisterTMCloneTable", "__cxa_finalize")

# The address of a function where control starts, and words for when it runs.
Root = tuple[int, str]


@dataclass
class ReachableCode:
    """The code that is reachable from the roots, each function by the shortest chain of calls."""

    subject: Subject
    when: dict[int, str] = field(default_factory=dict)  # by function: when its root runs
    callers: dict[int, tuple[int, int]] = field(default_factory=dict)  # by function: the caller, the call's address
    offenders: dict[int, Codes] = field(default_factory=dict)  # by function: its codes beyond the baseline
    undecodable: list[int] = field(default_factory=list)
    references: dict[int, list[ResolvedReference]] = field(default_factory=dict)  # by function
    calls: dict[str, str] = field(default_factory=dict)  # by the name of a called function: when the call runs

    def follow(self, roots: Sequence[Root]) -> None:
        """Follow control from all roots at once."""
        code = self.subject.code
        waiting: deque[tuple[int, str, tuple[int, int] | None]] = deque((*root, None) for root in roots)
        while waiting:
            address, when, call = waiting.popleft()
            number = code.entry(address)
            if number < 0 or number in self.when:
                continue
            self.when[number] = when
            if call is not None:
                self.callers[number] = call
            codes = code.codes(number)
            beyond = self.subject.unsound(number, codes, self.subject.baseline)
            if beyond and self.subject.is_checked(number):
                continue
            if (beyond or self.subject.allowances.entries) and self.subject.allowances.allows(code.name(number)):
                continue
            if beyond:
                self.offenders[number] = beyond
            elif self.subject.is_undecodable(number, codes):
                self.undecodable.append(number)
            self.references[number] = list(self.subject.references.of(number))
            for reference in self.references[number]:
                if reference.kind in DIRECT or reference.kind is Kind.CALL:
                    self.calls.setdefault(reference.name, when)
                    if reference.target:
                        waiting.append((reference.target, when, (number, reference.at)))

    def findings(self, *, foreign: bool = False) -> list[Finding]:
        """Return the findings.

        The dispatch of a `foreign` file, which isagen did not build, is unknown. So code beyond the baseline is
        unproven there if it runs after a test of CPU features, or if code that runs at load or exit takes its address.
        """
        findings = []
        for number, codes in self.offenders.items():
            finding = self.described("load", number, codes)
            if foreign and (tested := self._tested_variable(number, finding.address)):
                detail = f"{finding.detail}, perhaps only if a test of {tested} allows it"
                finding = replace(finding, kind="unproven", cause="check", detail=detail)
            findings.append(finding)
        for number in self.undecodable:
            finding = self.described("unproven", number, frozenset({self.subject.sets.decoder.invalid}))
            findings.append(replace(finding, cause="bytes", features=()))
        return [*findings, *(self._taken() if foreign else ())]

    def pointer_callers(self) -> int:
        """Return the number of functions that call through a pointer, or pass an unknown callback.

        Calls of weak functions by start-up code do not count.
        """
        return sum(map(self._calls_pointer, self.references.values()))

    def _calls_pointer(self, references: Sequence[ResolvedReference]) -> bool:
        slots = self.subject.code.pointers.slot_ranges
        return any(
            (reference.kind in UNKNOWN and not (before.name in START_UP or within(slots, before.target)))
            or (reference.kind is Kind.CALL and not reference.target and not reference.name)
            for before, reference in pairwise([ResolvedReference(0, Kind.END, 0, ""), *references])
        )

    def described(self, kind: str, number: int, codes: Codes) -> Finding:
        """Return the finding of a function that uses `codes`, with the chain of calls to it."""
        subject = self.subject
        finding = subject.finding_in(kind, number, codes, subject.baseline, subject.level_of(number))
        steps = self._steps(number, finding.address)
        variables = (self._variable(step, place, step == number) for step, place in steps)
        return replace(
            finding,
            detail=f"runs {self.when[number]}",
            path=tuple(subject.code.name(step) for step, _ in steps),
            variable=next(filter(None, variables), ""),
        )

    def _steps(self, number: int, address: int) -> list[tuple[int, int]]:
        """Return the chain of calls to an `address` in a function: (function, address of its call to the next step)."""
        steps = [(number, address)]
        while steps[0][0] in self.callers and len(steps) < LONGEST_CHAIN:
            steps.insert(0, self.callers[steps[0][0]])
        return steps

    # ---- the chain of calls

    def _tested_variable(self, number: int, address: int) -> str:
        """Return the known variable of CPU features that guards an address; "" if there is none.

        In each function of the chain of calls, one place leads on: the call of the next function, or, in the last one,
        the address. The variable guards the address if one of the functions reads it shortly before a branch that jumps
        over this place, or that jumps towards it over a return or unconditional jump.
        """
        code, known = self.subject.code, self.subject.sets.rules.cpu_checks.variables
        for step, place in self._steps(number, address):
            listed = [
                reference
                for start, raw in code.raw(step)
                for reference in code.decoder.references(raw, start, linked=not code.binary.relocatable)
            ]
            for flag, branch in pairwise(listed):
                if flag.kind is not Kind.FLAG or branch.kind is not Kind.BRANCH or branch.at - flag.after > NEAR:
                    continue
                jumps_over = branch.at < place < branch.address
                between = (reference for reference in listed if branch.at < reference.at < branch.address <= place)
                if jumps_over or any(reference.kind in LEAVES for reference in between):
                    in_slot = within(code.pointers.slot_ranges, flag.address)
                    variable = code.pointers.follow(flag.address).address if in_slot else flag.address
                    if (name := code.variables.name_at(variable)).startswith(known):
                        return name
        return ""

    def _variable(self, number: int, address: int, after_too: bool) -> str:
        """Return the variable that a function initialises near an address; "" if it is unknown.

        With `after_too`, variables that the function refers to after the address count too.
        """
        kinds = (Kind.WRITE, Kind.ADDRESS)
        references = [reference for reference in self.references.get(number, ()) if reference.kind in kinds]
        before = [reference.target for reference in reversed(references) if reference.at <= address]
        after = [reference.target for reference in references if reference.at > address] if after_too else []
        names: dict[bool, str] = {}  # by whether the variable is local
        for target in (*before, *after):
            section, symbol = self.subject.binary.section_at(target), self.subject.code.variables.symbol_at(target)
            if section is None or not section.writable or section.constant or symbol is None:
                continue
            if not (mangling.is_guard(symbol.name) or symbol.name.startswith(COMPILERS_OWN)):
                names.setdefault(symbol.binding == Binding.LOCAL, symbol.name)
        return names.get(True) or names.get(False, "")

    # ---- addresses of code

    def _taken(self) -> Iterator[Finding]:
        """Yield findings of functions beyond the baseline whose addresses reachable code takes, directly or in data."""
        code, references = self.subject.code, self.subject.references
        seen: set[int] = set()
        searched: set[int] = set()  # variables whose pointers were followed
        for number, listed in self.references.items():
            for reference in listed:
                target = reference.target
                if reference.kind is not Kind.ADDRESS or not target or target in seen:
                    continue
                seen.add(target)
                is_code = code.binary.is_code(target)
                pointed = [(target, "")] if is_code else references.reachable_from(target, searched)
                entries = [code.entry(address) for address, _ in pointed]
                first = next((entry for entry in entries if self._unreached_beyond(entry)), None)
                if first is None:
                    continue
                name = code.variables.name_at(target) or f"the data at {target:#x}"
                what = "its address is taken by" if is_code else f"{name} contains its address, and is used by"
                codes = self._unreached_beyond(first)
                finding = self.subject.finding_in("unproven", first, codes, self.subject.baseline, "")
                path = tuple(code.name(step) for step, _ in self._steps(number, reference.at))
                detail = f"{what} code that runs {self.when[number]}"
                yield replace(finding, cause="pointer", detail=detail, path=(*path, finding.symbol))

    def _unreached_beyond(self, number: int) -> Codes:
        """Return a function's codes that are beyond the baseline; none if the function is reached or checked."""
        if number < 0 or number in self.when or self.subject.is_checked(number):
            return frozenset()
        return self.subject.unsound(number, self.subject.code.codes(number), self.subject.baseline)


def at_load(subject: Subject, roots: Sequence[Root] = ()) -> ReachableCode:
    """Return the code that is reachable from the loader's roots, and from more `roots`."""
    reached = ReachableCode(subject)
    reached.follow([*subject.code.pointers.called_by_loader(), *roots])
    return reached
