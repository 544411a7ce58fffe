"""The rule for code that is reachable from a root: it keeps to the baseline, and a level's tells all that it runs."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property

from ..binary.pointing import within
from ..model.frozen import dataclass, field, replace
from ..processors.decoding import DIRECT, INDIRECT, Codes
from .findings import Finding
from .handed import Handed, Leak
from .references import GIVES, RUN, Event
from .states import UNKNOWN, State, Step, Value, joined
from .subject import Subject
from .values import Values

TYPE_CHECKING = False  # as in typing
if TYPE_CHECKING:
    from typing import TypedDict

    class Where(TypedDict):
        """What tells where a finding is."""

        path: tuple[str, ...]
        variable: str


LONGEST_CHAIN = 64
# Variables that say nothing of what an initialiser sets: of exceptions and guards (Itanium C++ ABI), and of the module.
UNTOLD = ("DW.ref.", "_ZGV")
MODULE = "__dso_handle"

# By a function's number, the one that calls it first and the address of the call.
Callers = Mapping[int, tuple[int, int]]


@dataclass(frozen=True)
class AtLoad:
    """The findings of code that the loader runs.

    `beyond` are those of functions that use instructions beyond the baseline, by number.
    """

    beyond: Mapping[int, Finding]
    others: Sequence[Finding]

    def __contains__(self, number: object) -> bool:
        """Return whether a function is reachable from a root and goes beyond the baseline."""
        return number in self.beyond

    def values(self) -> Iterator[Finding]:
        """Yield all findings."""
        yield from self.beyond.values()
        yield from self.others


def load_findings(subject: Subject, everywhere: bool = False) -> AtLoad:
    """Return what is reachable from the loader's roots and breaks the rule.

    Code of a level must not call through pointers there, nor hand out addresses of the level's code. Where it is
    unknown what is dispatched and how, calls through pointers are findings `everywhere`.
    """
    return _Reached(subject, everywhere).judged()


@dataclass
class _Reached:
    """The code that is reachable from the roots: what calls each function first, by the shortest chain of calls."""

    subject: Subject
    everywhere: bool
    when: dict[int, str] = field(default_factory=dict)  # by function: when its root runs
    callers: dict[int, tuple[int, int]] = field(default_factory=dict)
    unknown: dict[int, Step] = field(default_factory=dict)  # by function, its first call of unknown code
    values: dict[int, Values] = field(default_factory=dict)  # of functions of levels
    given: dict[int, dict[int, frozenset[Value]]] = field(default_factory=dict)  # what these are called with

    @cached_property
    def handed(self) -> Handed:
        """What functions of levels hand out."""
        return Handed(self.subject)

    def judged(self) -> AtLoad:
        """Follow control from all roots at once, and return the findings."""
        subject, code = self.subject, self.subject.code
        beyond = subject.sets.beyond(subject.baseline)
        offenders: dict[int, Codes] = {}
        waiting: deque[int] = deque()
        for address, when in dict.fromkeys(code.pointers.called_by_loader()):
            self._reach(code.entry(address), when, None, {}, waiting)
        while waiting:
            number = waiting.popleft()
            codes = code.codes(number) & beyond
            if codes and subject.is_checked(number):
                continue
            if (codes or subject.allowances.entries) and subject.allowances.cover(code.name(number)):
                continue
            if codes:
                offenders[number] = codes
            for place, target, given in self._called(number):
                self._reach(code.entry(target), self.when[number], (number, place), given, waiting)
        chains = _Chains(subject, self.callers)
        found = {number: chains.describe(self.when[number], number, codes) for number, codes in offenders.items()}
        return AtLoad(found, [*self._unproven(chains), *self._handed_out(chains)])

    def _reach(self, number: int, when: str, caller: tuple[int, int] | None, given: State, waiting: deque[int]) -> None:
        """Note that control comes to a function from a caller, with the values `given`; follow it if that is new."""
        if number < 0:
            return
        new = number not in self.when
        if new:
            self.when[number] = when
            if caller is not None:
                self.callers[number] = caller
        if self.subject.level_of(number):
            known = self.given.get(number)
            self.given[number] = dict(given) if known is None else joined(known, given)
            new = new or self.given[number] != known
        if new:
            waiting.append(number)

    def _called(self, number: int) -> Iterator[tuple[int, int, State]]:
        """Yield what a function passes control to: (address of the instruction, address of the code, values given)."""
        level = bool(self.subject.level_of(number))
        values = Values(self.subject.references, number, self.given.get(number), 0) if level else None
        steps = {step.instruction.ip: step for step in values.steps} if values else {}
        arrays = self.subject.code.pointers.arrays
        somewhere = known = False
        for place, what, target in self.subject.references.events(number):
            if what == "call":
                yield place, target, self._arguments(steps.get(place))
            somewhere = somewhere or what == "somewhere"
            # Start code of older compilers calls the functions in such an array, which are roots.
            known = known or (what == "point" and within(arrays, target))
        if values is None and somewhere and not known and self.everywhere:
            values = Values(self.subject.references, number)
        if values is None:
            return
        if level:
            self.values[number] = values
            self.unknown.pop(number, None)
        for step in values.steps:
            for target in self._targets(number, step, values, level):
                yield step.instruction.ip, target, self._arguments(step)

    def _arguments(self, step: Step | None) -> State:
        """Return the values of the arguments with which a call runs what it calls."""
        if step is None:
            return {}
        arguments = self.subject.code.decoder.arguments
        name = self.subject.references.called(step.instruction)[1]
        if name in RUN:  # what is handed over runs, with what comes after it
            return {arguments[0]: step.passed(arguments[RUN[name] + 1])} if name in GIVES else {}
        return {register: step.passed(register) for register in arguments if register in step.state}

    def _targets(self, number: int, step: Step, values: Values, level: bool) -> Iterator[int]:
        """Yield the addresses of code that a call through a register leads to, or that a call hands over to be run."""
        flow = step.instruction.flow_control
        if flow not in DIRECT and flow not in INDIRECT:
            return
        handed = self.handed.runs(step, values) if level else ""
        found = step.values(self.subject.code.decoder.arguments[RUN[handed]]) if handed else frozenset()
        if flow in INDIRECT:
            found |= values.targets(step)
        elif level and self._is_thunk(step):
            found |= {UNKNOWN}
        for value in found:
            if value == UNKNOWN:
                self.unknown.setdefault(number, step)
            elif isinstance(value, int) and self._is_elsewhere(number, value):
                yield value

    def _is_elsewhere(self, number: int, address: int) -> bool:
        code = self.subject.code
        return code.functions.is_code(address) and not code.covers(number, address)

    def _is_thunk(self, step: Step) -> bool:
        """Return whether a call leads to a function that jumps to an address in a register."""
        target, name = self.subject.references.called(step.instruction)
        number = self.subject.code.functions.starting_at(target) if target else -1
        name = self.subject.code.name(number) if number >= 0 else name
        return name.startswith(self.subject.code.decoder.thunks)

    # ---- findings

    def _unproven(self, chains: _Chains) -> Iterator[Finding]:
        for number, step in self.unknown.items():
            text = self.subject.code.decoder.text(step.instruction)
            what = f"runs {self.when[number]}; where it leads is unknown"
            yield chains.finding("unproven", number, step.instruction.ip, what, text)

    def _handed_out(self, chains: _Chains) -> Iterator[Finding]:
        leaks: dict[int, list[Leak]] = {}
        self.handed.know(self.values)
        filled = -1
        while filled != len(self.handed.filled):  # variables count as holding addresses in all functions
            filled = len(self.handed.filled)
            leaks = {number: list(self.handed.leaks(number, values)) for number, values in self.values.items()}
        for number, listed in leaks.items():
            for what, place in {leak.what: leak.place for leak in reversed(listed)}.items():
                detail = f"runs {self.when[number]}; takes {what}"
                yield chains.finding("address", number, place, detail)


class _Chains:
    """The chains of calls that lead from roots to findings, and what they tell of these."""

    def __init__(self, subject: Subject, callers: Callers) -> None:
        self._subject = subject
        self._code = subject.code
        self._callers = callers
        self._known: dict[int, tuple[Event, ...]] = {}

    def describe(self, when: str, number: int, codes: Codes) -> Finding:
        """Return the finding of a function that runs `when` the root does, and uses `codes`."""
        subject = self._subject
        finding = subject.finding("load", number, codes, subject.baseline, subject.level_of(number))
        asked = self._asked(self._steps(number, finding.address))
        detail = f"runs {when}" + (f", perhaps only where {asked} finds what it needs" if asked else "")
        return replace(finding, detail=detail, **self._where(number, finding.address))

    def finding(self, kind: str, number: int, place: int, detail: str, text: str = "") -> Finding:
        """Return a finding of another kind, at an instruction of a function."""
        symbol, level = self._code.name(number), self._subject.level_of(number)
        shown, kernel = self._subject.origin(symbol, level)
        found = Finding(kind, symbol, detail, level, shown, kernel, instruction=text, address=place)
        return replace(found, **self._where(number, place))

    def _steps(self, number: int, address: int) -> list[tuple[int, int]]:
        """Return the chain of calls to an instruction of a function, each with the address of the call."""
        steps = [(number, address)]
        while steps[0][0] in self._callers and len(steps) < LONGEST_CHAIN:
            steps.insert(0, self._callers[steps[0][0]])
        return steps

    def _where(self, number: int, address: int) -> Where:
        """Return the chain of calls to an instruction of a function, and the variable that is initialised."""
        steps = self._steps(number, address)
        path = tuple(self._code.name(step) for step, _ in steps)
        # The variable is named before the call that leads on, or near the instruction itself.
        names = (self._variable(step, place, step == number) for step, place in steps)
        return {"path": path, "variable": next((name for name in names if name), "")}

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
        data = [event for event in self._events(number) if event[1] in ("set", "point")]
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
