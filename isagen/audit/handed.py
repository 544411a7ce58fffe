"""Addresses of a level's code in what the level runs when it is loaded: which of them code outside could keep.

A function without a result leaves something in the register for one. So only results that a caller uses count.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping

from ..model.frozen import dataclass
from ..processors.decoding import CALL, DIRECT, INDIRECT, INDIRECT_CALL, RETURN, How
from .demangle import demangle
from .references import NOTES, RUN, WORD
from .secrets import Secrets
from .states import Result, Step, Value
from .subject import Subject
from .values import Values

THREAD = "pthread_create"  # of the functions in `RUN`, the one that hands on what the function returns


@dataclass(frozen=True)
class Leak:
    """An address that code hands out: the instruction's `place`, and what it hands out, in words."""

    place: int
    what: str


class Handed:
    """The addresses of a level's code that functions of the level hand out.

    Calling such an address is no leak, nor is handing it to a function in `RUN`, which runs it, or to one of the
    level, which is judged itself. The address of a constant that holds addresses of code may be stored in a variable
    that no other source knows. Any may be stored in the function's own stack frame, if no address of the frame leaves
    the function.
    """

    def __init__(self, subject: Subject) -> None:
        self._subject = subject
        self._code = subject.code
        self._references = subject.references
        self._secrets = Secrets(subject)
        self._resolvers = {subject.code.entry(address) for address in subject.code.pointers.resolvers}
        self._results: set[int] = set()

    @property
    def filled(self) -> set[int]:
        """The variables that such addresses are stored in, by their addresses."""
        return self._secrets.filled

    def know(self, functions: Mapping[int, Values]) -> None:
        """Note all functions that run, by number, before any is judged."""
        self._results = used_results(self._subject, functions, self.runs)

    def leaks(self, number: int, values: Values) -> Iterator[Leak]:
        """Yield what a function hands out; a resolver may answer with an address, which the loader keeps for the level.

        A variable that it fills with such addresses counts from then on as data that holds them.
        """
        framed: list[Leak] = []  # no leak as long as no other function knows an address in the stack frame
        exposed = False
        for step in values.steps:
            exposed = exposed or values.exposes(step)
            flow = step.instruction.flow_control
            if flow in DIRECT or flow in INDIRECT:
                yield from self._passed(number, step, values)
            elif flow == RETURN:
                yield from self._returned(number, step) if number not in self._resolvers else ()
            elif not step.effect.compares:
                slot = values.slot(step)
                found = [*self._formed(step, values), *self._used(step, values)]
                framed.extend(found if slot else ())
                yield from () if slot else found
        if exposed:
            yield from framed

    # ---- what an instruction does with an address

    def _formed(self, step: Step, values: Values) -> Iterator[Leak]:
        """Yield addresses that an instruction takes, but not into a register that is followed."""
        effect, place = step.effect, step.effect.place
        if effect.how == How.OTHER and self._secrets.is_secret(
            number := self._references.number(step.instruction, effect)
        ):
            yield Leak(step.instruction.ip, self._secrets.shown(number))
        for value in self._secrets.among(values.held(step)):
            yield Leak(step.instruction.ip, self._secrets.shown(value))
        if place is None:
            return
        address = values.base(step)
        if not address and place.read and place.size >= WORD and effect.how == How.LOAD:
            # A pointer that a loop moves through a table.
            bases = step.values(place.base) if place.base else frozenset()
            tables = [one for one in bases if isinstance(one, int) and one and self._secrets.is_table(one)]
            if len(bases) > 1 and tables:
                yield Leak(step.instruction.ip, self._secrets.shown(tables[0]))
        section = self._code.binary.section_at(address) if address else None
        if section is None or section.executable:
            return
        if effect.how == How.ADDRESS:
            # An address inside a table, at an unknown place.
            if place.index and self._secrets.is_table(address):
                yield Leak(step.instruction.ip, self._secrets.shown(address))
        elif place.read and place.size >= WORD and (effect.how == How.OTHER or not section.constant):
            held = self._secrets.held(address, 0 if place.index else place.size)
            if held:
                yield Leak(
                    step.instruction.ip, f"{self._secrets.shown(held[0])}, out of {self._secrets.named(address)}"
                )

    def _passed(self, number: int, step: Step, values: Values) -> Iterator[Leak]:
        """Yield addresses that a call, or a jump out of the function, hands over."""
        target, name = self._references.called(step.instruction)
        targets: frozenset[Value] = frozenset({target or name})
        if step.instruction.flow_control in INDIRECT:
            targets = values.targets(step)
        if step.instruction.flow_control not in (CALL, INDIRECT_CALL) and all(
            isinstance(one, int) and self._code.covers(number, one) for one in targets
        ):
            return
        if all(isinstance(one, int) and one and self._secrets.is_code(one) for one in targets):
            return  # what runs then is judged with what it is given
        arguments = list(self._code.decoder.arguments)
        if run := self.runs(step, values):
            given = step.values(arguments[RUN[run]])
            if all(isinstance(one, int) and self._secrets.is_code(one) for one in given):
                return
            arguments.pop(RUN[run])  # what is run, unless it is code of the level, is handed the others
        names = (self._code.name(self._code.entry(one)) if isinstance(one, int) and one else one for one in targets)
        name = next((one for one in names if isinstance(one, str) and one), "")
        for register in arguments if not name.startswith(NOTES) else ():
            for value in self._secrets.of(step, register):
                yield Leak(step.instruction.ip, f"{self._secrets.shown(value)}, to {demangle(name) or 'a function'}")

    def runs(self, step: Step, values: Values) -> str:
        """Return the name out of `RUN` of the function that a call leads to; "" if it is none, or one of a level."""
        target, name = self._references.called(step.instruction)
        if step.instruction.flow_control in INDIRECT and not target:
            targets = values.targets(step)
            name = next((one for one in targets if isinstance(one, str)), "") if len(targets) == 1 else ""
        return name if name in RUN and not (target and self._secrets.is_code(target)) else ""

    def _returned(self, number: int, step: Step) -> Iterator[Leak]:
        if number in self._results:  # a function without a result leaves there what it computed last
            for value in self._secrets.of(step, self._code.decoder.result):
                yield Leak(step.instruction.ip, f"{self._secrets.shown(value)}, to its caller")

    def _used(self, step: Step, values: Values) -> Iterator[Leak]:
        """Yield addresses that an instruction stores, or computes with."""
        effect = step.effect
        if effect.how in (How.COPY, How.CHOOSE) or (effect.how == How.ADD and not effect.source):
            return  # into a register that is followed
        for register in effect.reads:
            for value in self._secrets.of(step, register):
                if effect.place is not None and effect.place.written and isinstance(value, int):
                    variable = values.address(step)
                    if not self._secrets.is_code(value) and self._secrets.is_own(variable):
                        self._secrets.filled.add(self._secrets.start(variable))
                        continue
                yield Leak(step.instruction.ip, self._secrets.shown(value))


def used_results(subject: Subject, functions: Mapping[int, Values], runs: Callable[[Step, Values], str]) -> set[int]:
    """Return the functions, by number, of whose results any of the `functions` that call them makes use."""
    code = subject.code
    used: set[int] = set()
    returned: dict[int, set[int]] = defaultdict(set)  # by function, those whose results it returns
    for number, values in functions.items():
        for step in values.steps:
            flow = step.instruction.flow_control
            if flow == RETURN:
                returned[number].update(map(code.entry, _results(step.values(code.decoder.result))))
                continue
            used.update(map(code.entry, _taken(subject, step, values, runs)))
            if (flow in DIRECT or flow in INDIRECT) and flow not in (CALL, INDIRECT_CALL):
                target = subject.references.called(step.instruction)[0]
                targets = [target] if target else values.targets(step) if flow in INDIRECT else ()
                outside = (one for one in targets if isinstance(one, int) and one and not code.covers(number, one))
                returned[number].update(map(code.entry, outside))
    waiting = list(used)
    while waiting:
        new = returned.get(waiting.pop(), set()) - used
        used |= new
        waiting.extend(new)
    return used


def _taken(subject: Subject, step: Step, values: Values, runs: Callable[[Step, Values], str]) -> Iterator[int]:
    """Yield the addresses of the functions whose results an instruction uses."""
    effect, place, flow = step.effect, step.effect.place, step.instruction.flow_control
    arguments = subject.code.decoder.arguments
    if flow in DIRECT or flow in INDIRECT:
        for register in arguments:
            yield from _results(step.values(register))
        if runs(step, values) == THREAD:
            yield from (one for one in step.values(arguments[RUN[THREAD]]) if isinstance(one, int) and one)
    elif not effect.compares:
        if place is not None:
            for register in (place.base, place.index):
                yield from _results(step.state.get(register, ()) if register else ())
        yield from _results(values.held(step))
        if effect.how not in (How.COPY, How.CHOOSE) and not values.slot(step):
            for register in effect.reads:
                yield from _results(step.values(register))


def _results(values: frozenset[Value] | tuple[()]) -> list[int]:
    return [value.function for value in values if isinstance(value, Result)]
