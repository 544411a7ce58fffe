"""The words of a function's stack frame: what instructions store there and load, and where addresses of it go."""

from __future__ import annotations

from collections.abc import Iterator

from ..processors.decoding import Decoder, Effect, How, Place
from .references import WORD
from .states import ANY, ESCAPE, ESCAPED, Frame, State, Value

# External functions that take no argument, whatever the registers for these hold.
WITHOUT_ARGUMENTS = frozenset(
    {"__errno_location", "__cxa_get_globals", "__cxa_end_catch", "__cxa_rethrow", "__stack_chk_fail", "abort"}
)
Words = dict[int, frozenset[Value]]


class Frames:
    """The stack frame of a function, as far as it is at known distances from a frame pointer.

    The words are part of the state. Memory below the stack pointer's own register is not: there are arguments of calls.
    """

    def __init__(self, decoder: Decoder) -> None:
        self._kept = decoder.kept
        self._stack = decoder.stack
        self._pointer = decoder.arguments[0]

    def starts(self, effect: Effect) -> bool:
        """Return whether an instruction may set a frame pointer."""
        return effect.how == How.COPY and effect.source == self._stack and effect.to in self._kept

    def is_frame(self, state: State) -> bool:
        """Return whether a register holds an address in the function's own frame."""
        return any(type(v) is Frame and not v.lent for key, held in state.items() if key > 0 for v in held)

    # ---- words

    def _located(self, place: Place, state: State) -> tuple[list[int], bool] | None:
        """Return where in the frame an operand may be, and whether that is sure; None if it is elsewhere."""
        own = [value for value in _frames(state, place.base) if not value.lent]
        if place.base == self._stack or (place.index and (own or _frames(state, place.index))):
            return [key for key in state if key < 0], False
        if not own:
            return None
        return [value.offset + place.offset for value in own], len(state[place.base]) == 1

    def loaded(self, place: Place, state: State) -> frozenset[Value] | None:
        """Return what a register may hold that is loaded from an operand in the frame; None if it is elsewhere."""
        located = self._located(place, state)
        if located is None or (not located[0] and not located[1]):
            return None
        if place.size != WORD:
            return ANY
        found = frozenset[Value]().union(*(state.get(offset, ANY) for offset in located[0]))
        return found if located[1] else found | ANY

    def slot(self, effect: Effect, state: State) -> int:
        """Return which word of the frame an instruction stores a register or number in; 0 if it is none, or unknown."""
        place = effect.place
        if place is None or not place.written or place.read or place.size != WORD or effect.how != How.OTHER:
            return 0
        if len(effect.reads) != 1 and (effect.reads or effect.number is None):
            return 0
        located = self._located(place, state)
        return min(located[0][0], 0) if located is not None and located[1] else 0

    def stored(self, effect: Effect, state: State) -> frozenset[Value]:
        """Return what an instruction stores in a word of memory, if that is a register."""
        place = effect.place
        whole = place is not None and place.written and not place.read and place.size == WORD
        return state.get(effect.reads[0], ANY) if whole and len(effect.reads) == 1 else ANY

    def held(self, effect: Effect, state: State) -> frozenset[Value]:
        """Return the values in words of the frame that an instruction reads, but not into a followed register."""
        place = effect.place
        if place is None or not place.read or effect.how == How.LOAD or effect.compares:
            return frozenset()
        located = self._located(place, state)
        if located is None:
            return frozenset()
        every = not located[1] or not place.size
        keys = [k for k in state if k < 0 and (every or any(o - WORD < k < o + place.size for o in located[0]))]
        return frozenset[Value]().union(*(state[key] for key in keys))

    def store(self, effect: Effect, value: frozenset[Value], state: Words) -> None:
        """Change the words as an instruction does that writes to memory."""
        place = effect.place
        assert place is not None
        located = self._located(place, state)
        if located is None:
            if ESCAPED in state and not place.relative:
                weaken(state)
            return
        offsets, sure = located
        if not sure or not place.size:
            weaken(state)
            for offset in offsets if self._is_pointed(place) else ():
                if offset < 0 and (found := state.get(offset, ANY) | value) != ANY:
                    state[offset] = found
            return
        (offset,) = offsets
        for key in [key for key in state if key < 0 and offset - WORD < key < offset + place.size]:
            del state[key]
        if self.slot(effect, state) and value != ANY:
            state[offset] = value

    def _is_pointed(self, place: Place) -> bool:
        return not place.index and place.base != self._stack and place.size == WORD

    # ---- addresses of the frame

    def escaping(self, effect: Effect, state: State, call: bool) -> set[Frame]:
        """Return the addresses in a frame that an instruction gives to what is not followed."""
        if call:
            return {v for key in state if key > 0 and key not in self._kept for v in _frames(state, key)}
        if effect.compares:
            return set()
        place, how = effect.place, effect.how
        found = set(self._of_stack(effect, state))
        if how == How.ADDRESS and place is not None:
            return found | _frames(state, place.base) | _frames(state, place.index) if place.index else found
        if how in (How.COPY, How.CHOOSE) or (how == How.ADD and not effect.source) or self.slot(effect, state):
            return found
        for register in effect.reads:
            # An instruction that sets the stack pointer from the frame pointer, and that anew, ends the frame.
            if not (self._stack in effect.writes and register in effect.writes):
                found |= _frames(state, register)
        if place is not None and how == How.OTHER and not place.read and not place.written:
            found |= _frames(state, place.base)
        return found | {value for value in self.held(effect, state) if type(value) is Frame}

    def _of_stack(self, effect: Effect, state: State) -> Iterator[Frame]:
        """Yield the frame where an instruction takes an address from the stack pointer beside the frame pointer."""
        base = effect.place.base if effect.how == How.ADDRESS and effect.place is not None else 0
        copied = effect.how == How.COPY and effect.source == self._stack
        if (copied or base == self._stack) and effect.to != self._stack and self.is_frame(state):
            yield Frame(0)

    def escape(self, state: Words) -> None:
        """Note that others may know an address in the frame."""
        state[ESCAPED] = ESCAPE
        weaken(state)

    def fills(self, effect: Effect) -> bool:
        """Return whether an instruction writes to where a register points that it moves on, as `rep stos` does."""
        return effect.place is None and self._pointer in effect.reads and self._pointer in effect.writes


def weaken(state: Words) -> None:
    """Note that words of the frame may hold anything else as well."""
    for key in state:
        if key < 0:
            state[key] |= ANY


def overwrite(state: Words, start: int, end: int) -> None:
    """Note that words from `start` to before `end` may hold anything else as well."""
    for key in state:
        if key < 0 and start - WORD < key < end:
            state[key] |= ANY


def _frames(state: State, register: int) -> set[Frame]:
    return {value for value in state.get(register, ()) if type(value) is Frame} if register else set()
