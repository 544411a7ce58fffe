"""What functions do with memory of their callers' stack frames that they get the address of."""

from __future__ import annotations

from collections.abc import Callable

from ..processors.decoding import CALL, INDIRECT_BRANCH, INDIRECT_CALL, RETURN, UNCONDITIONAL
from .references import References
from .states import ESCAPED, Frame, Lent, State

TYPE_CHECKING = False  # as in typing
if TYPE_CHECKING:
    from .values import Values


def lent_to(
    references: References, target: int, state: State, lost: set[Frame], inside: Callable[[int, State], Values]
) -> list[tuple[Frame, Lent]] | None:
    """Return what a call of `target` does with the addresses in a stack frame that it hands over.

    None says that this is unknown, or that it gets some of the `lost` ones in another way.
    """
    callee = references.code.entry(target)
    found: list[tuple[Frame, Lent]] = []
    for register in references.code.decoder.arguments if callee >= 0 else ():
        frames = [value for value in state.get(register, ()) if isinstance(value, Frame)]
        if frames:
            known = references.lent
            if (callee, register) not in known:
                known[callee, register] = None  # while a function that calls itself is followed
                known[callee, register] = summary(inside(callee, {register: frozenset({Frame(0, True)})}))
            how = known[callee, register]
            if how is None:
                return None
            found.extend((frame, how) for frame in frames)
    # What is called may load addresses from the memory that it is lent, and write there.
    hidden = any(isinstance(one, Frame) for key in state if key < 0 for one in state[key])
    return found if lost <= {frame for frame, _ in found} and not hidden else None


def summary(values: Values) -> Lent | None:
    """Return what the function does with the memory that it is lent; None if that is unknown."""
    writes: set[tuple[int, int]] = set()
    returns: set[int] = set()
    for step in values.steps:
        instruction, effect, state = step.instruction, step.effect, step.state
        flow, place = instruction.flow_control, effect.place
        call = flow in (CALL, INDIRECT_CALL)
        out = flow in (UNCONDITIONAL, INDIRECT_BRANCH) and not values.stays(step)
        lost = {one for one in values.lost(instruction, effect, state, call or out) if one.lent}
        lent = values.lent(instruction, state, lost) if lost and call else None
        if lost and lent is None:
            return None
        for frame, how in lent or ():
            if frame.lent:
                writes.update((frame.offset + start, frame.offset + end) for start, end in how.writes)
        held = [*state.get(place.base, ()), *state.get(place.index, ())] if place and place.written else []
        for one in held:
            if isinstance(one, Frame) and one.lent:
                if place is None or place.index or not place.size:
                    return None
                writes.add((one.offset + place.offset, one.offset + place.offset + place.size))
        if flow == RETURN:
            result = state.get(values.result, ())
            returns.update(one.offset for one in result if isinstance(one, Frame) and one.lent)
        if ESCAPED in state and any(isinstance(one, Frame) and one.lent for key in state for one in state[key]):
            return None
    return Lent(tuple(sorted(writes)), frozenset(returns))
