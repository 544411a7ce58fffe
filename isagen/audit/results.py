"""Which functions' results are used: the register for it holds something after functions without one, too."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping

from ..processors.decoding import CALL, DIRECT, INDIRECT, INDIRECT_CALL, RETURN, How
from .references import RUN
from .states import Result, Step, Value
from .subject import Subject
from .values import Values

THREAD = "pthread_create"  # of the functions in `RUN`, the one that hands on what the function returns


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
