"""The values in registers and in the stack frame at each instruction of a function: addresses, functions, entries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property

from ..processors.decoding import (
    CALL,
    CONDITIONAL,
    DIRECT,
    INDIRECT,
    INDIRECT_CALL,
    LEAVES,
    Effect,
    How,
    Instruction,
    Place,
)
from .frames import WITHOUT_ARGUMENTS, Frames, overwrite, weaken
from .lending import lent_to
from .loading import Loading
from .references import References
from .states import (
    ANY,
    ESCAPED,
    NULL,
    UNKNOWN,
    Entry,
    Frame,
    Lent,
    Result,
    State,
    Step,
    Value,
    added,
    joined,
    signed,
)
from .ways import Ways, is_jump

ALONE, DEEPEST = 9, 4  # calls that an address of the stack frame is followed through
LARGEST = 2048  # instructions of a function whose stack frame is followed


class Values:
    """The values in the registers and the stack frame of one function, by the flow of control through it.

    A register whose value is unknown may hold anything. Calls are taken to keep the registers that they have to keep,
    and all memory that they do not get the address of. `entry` are the values when the function is called. Its frame is
    followed into functions that it calls, until `depth` is DEEPEST, and not at all with ALONE.
    """

    def __init__(self, references: References, number: int, entry: State | None = None, depth: int = ALONE) -> None:
        self._references = references
        self._code = references.code
        self._decoder = references.code.decoder
        self.result = self._decoder.result
        self._entry = dict(entry or {})
        self._listed = [(one, self._decoder.effect(one)) for one in self._code.decode(number)]
        self._frames = Frames(self._decoder)
        self._loading = Loading(references)
        self._number, self._depth = number, depth
        followed = depth != ALONE and len(self._listed) <= LARGEST
        self._framed = followed and (depth > 0 or any(self._frames.starts(effect) for _, effect in self._listed))
        self._targets: dict[int, tuple[int, str]] = {}  # of calls, by address
        self._ways = Ways(references, [one for one, _ in self._listed])

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        """All instructions in the order of the code, with the values before each."""
        steps = tuple(self._run(self._settle()))
        while self._ways.find_jumps((one.instruction, self.targets(one)) for one in steps if is_jump(one.instruction)):
            steps = tuple(self._run(self._settle()))
        return steps

    def targets(self, step: Step) -> frozenset[Value]:
        """Return where an indirect call or jump may lead to: addresses, names of external functions, UNKNOWN.

        A jump leads to all entries of a table of jumps.
        """
        place = step.effect.place
        if place is not None:
            found = self._loaded(step.instruction, place, step.state)
        else:
            stack = self._decoder.stack
            found = frozenset().union(*(step.values(one) for one in step.effect.reads if one != stack)) or ANY
        every: set[Value] = set()
        for value in found:
            if isinstance(value, int | str):
                every.add(value)
            elif isinstance(value, Entry) and is_jump(step.instruction) and (entries := self._ways.entries(value)):
                every.update(entries)
            else:
                every.add(UNKNOWN)
        return frozenset(every)

    def address(self, step: Step) -> int:
        """Return the address of an instruction's operand in memory; 0 if it is unknown or depends on an index."""
        place = step.effect.place
        if place is None:
            return 0
        return self.base(step) if not place.index else 0

    def base(self, step: Step) -> int:
        """Return the address of an instruction's operand in memory, apart from an index; 0 if it is unknown."""
        place = step.effect.place
        return self._loading.operand(step.instruction, place, step.state) if place is not None else 0

    # ---- the flow

    def _settle(self) -> dict[int, dict[int, frozenset[Value]]]:
        """Return the values before the first instruction of each stretch of code, by its place in the list."""
        before: dict[int, dict[int, frozenset[Value]]] = {0: self._entry} if self._listed else {}
        reached = self._flow(before, list(before))
        # Control comes to the rest by exceptions, out of calls, and by jumps that are not known.
        rest = [
            one for one in range(1, len(self._listed)) if one not in reached and one not in self._ways.after(one - 1)
        ]
        while self._framed and rest and (thrown := self._thrown(before)):
            if not (new := [place for place in rest if self._merge(before, place, thrown)]):
                break
            self._flow(before, new)
        return before

    def _flow(self, before: dict[int, dict[int, frozenset[Value]]], waiting: list[int]) -> set[int]:
        """Follow control from the `waiting` places until the values are known; return the places that it reaches."""
        heads, reached = self._ways.heads, set()
        while waiting:
            place = waiting.pop()
            state = dict(before[place])
            while True:
                reached.add(place)
                self._step(place, state)
                for after in self._ways.after(place):
                    if (after != place + 1 or after in heads) and self._merge(before, after, state):
                        waiting.append(after)
                if place + 1 in heads or place + 1 >= len(self._listed) or place + 1 not in self._ways.after(place):
                    break
                place += 1
        return reached

    def _thrown(self, before: Mapping[int, State]) -> dict[int, frozenset[Value]]:
        """Return the values with which control may leave instructions other than to where it is followed."""
        found: dict[int, frozenset[Value]] | None = None
        for place, step in enumerate(self._run(before)):
            flow = step.instruction.flow_control
            if step.state and (flow == CALL or (flow in INDIRECT and place not in self._ways.jumps)):
                state = dict(step.state)
                if flow not in LEAVES:
                    self._step(place, state)
                    state.pop(self.result, None)
                found = state if found is None else joined(found, state)
        return found or {}

    @staticmethod
    def _merge(before: dict[int, dict[int, frozenset[Value]]], place: int, state: State) -> bool:
        """Add what registers hold when control comes to a place; return whether that was new."""
        known = before.get(place)
        before[place] = dict(state) if known is None else joined(known, state)
        return before[place] != known

    def _run(self, before: Mapping[int, State]) -> Iterator[Step]:
        heads = self._ways.heads
        state: dict[int, frozenset[Value]] = {}
        for place, (instruction, effect) in enumerate(self._listed):
            if place in heads or place in before or (place and place not in self._ways.after(place - 1)):
                state = dict(before.get(place, {}))
            yield Step(instruction, effect, dict(state))
            self._step(place, state)

    # ---- one instruction

    def _step(self, place: int, state: dict[int, frozenset[Value]]) -> None:
        """Change the `state` as an instruction does."""
        instruction, effect = self._listed[place]
        values = self._computed(instruction, effect, state)
        flow = instruction.flow_control
        call = (flow in DIRECT or flow in INDIRECT) and flow != CONDITIONAL and flow not in LEAVES
        returned = self._returned(instruction, effect, state) if call and self._depth < DEEPEST else ANY
        if self._framed and state:
            returned |= self._touch(instruction, effect, state, call)
        for register in effect.writes:
            state.pop(register, None)
        if call:
            kept = self._decoder.kept
            for register in [one for one in state if one > 0 and one not in kept]:
                del state[register]
            if returned != ANY:
                state[self.result] = returned
        elif self._framed and self._frames.starts(effect) and not self._frames.is_frame(state):
            for word in [one for one in state if one < 0]:
                del state[word]
            state[effect.to] = frozenset({Frame(0)})
        elif values is not None and values != ANY:
            state[effect.to] = values

    def _returned(self, instruction: Instruction, effect: Effect, state: State) -> frozenset[Value]:
        """Return the results of the functions that a call leads to."""
        target = self._called(instruction)[0]
        if target or instruction.flow_control in DIRECT:
            return frozenset({Result(target)}) if target else ANY
        return frozenset(
            Result(one) if isinstance(one, int) and one else UNKNOWN
            for one in self.targets(Step(instruction, effect, state))
        )

    # ---- the stack frame

    def _touch(
        self, instruction: Instruction, effect: Effect, state: dict[int, frozenset[Value]], call: bool
    ) -> frozenset[Value]:
        """Change the words of the frame as an instruction does; return the addresses in it that a call may return."""
        frames = self._frames
        returned: frozenset[Value] = frozenset()
        value = frames.stored(effect, state)
        if value == ANY and effect.number is not None and frames.slot(effect, state):
            value = frozenset({self._references.number(instruction, effect) or UNKNOWN})
        lost = self.lost(instruction, effect, state, call)
        if lost:
            lent = self.lent(instruction, state, lost) if call else None
            if lent is None:
                if not all(one.lent for one in lost):
                    frames.escape(state)
            else:
                for frame, how in lent:
                    returned |= {UNKNOWN, *(Frame(frame.offset + one, frame.lent) for one in how.returns)}
                    for start, end in () if frame.lent else how.writes:
                        overwrite(state, frame.offset + start, frame.offset + end)
        if ESCAPED in state and (call or frames.fills(effect)):
            weaken(state)
        if effect.place is not None and effect.place.written:
            frames.store(effect, value, state)
        return returned

    def lost(self, instruction: Instruction, effect: Effect, state: State, call: bool) -> set[Frame]:
        """Return the addresses in a stack frame that an instruction gives to other functions, or to memory."""
        found = self._frames.escaping(effect, state, call)
        return set() if found and call and self._called(instruction)[1] in WITHOUT_ARGUMENTS else found

    def _called(self, instruction: Instruction) -> tuple[int, str]:
        if instruction.ip not in self._targets:
            self._targets[instruction.ip] = self._references.called(instruction)
        return self._targets[instruction.ip]

    def stays(self, step: Step) -> bool:
        """Return whether a direct jump stays in the function."""
        return self._code.branch(step.instruction) in self._ways.index

    def slot(self, step: Step) -> int:
        """Return which word of the stack frame an instruction stores a value in that is followed; 0 if it is none."""
        return self._frames.slot(step.effect, step.state)

    def held(self, step: Step) -> frozenset[Value]:
        """Return the values in the stack frame that an instruction reads, but not into a register that is followed."""
        return self._frames.held(step.effect, step.state)

    def exposes(self, step: Step) -> bool:
        """Return whether an instruction gives an address in the stack frame to other functions, or to memory."""
        if not self._framed or not step.state:
            return False
        flow = step.instruction.flow_control
        call = flow in (CALL, INDIRECT_CALL)
        return ESCAPED in step.state or bool(self.lost(step.instruction, step.effect, step.state, call))

    def lent(self, instruction: Instruction, state: State, lost: set[Frame]) -> list[tuple[Frame, Lent]] | None:
        """Return what a call does with the addresses in a stack frame that it hands over; None if that is unknown."""
        target = self._called(instruction)[0] if self._depth < DEEPEST else 0

        def inside(callee: int, given: State) -> Values:
            return Values(self._references, callee, given, self._depth + 1)

        return lent_to(self._references, target, state, lost, inside) if target else None

    # ---- what is computed

    def _computed(self, instruction: Instruction, effect: Effect, state: State) -> frozenset[Value] | None:
        """Return the values that an instruction puts into the register `effect.to`; None if nothing is known."""
        how, place = effect.how, effect.place
        held = state.get(effect.source, ANY)
        if how == How.NUMBER:
            if effect.number == 0 and not self._loading.referred(instruction):
                return frozenset({NULL})
            return frozenset({self._references.pointed(instruction) or self._loading.named(instruction)})
        if how == How.COPY:
            return held
        if how == How.CHOOSE:
            return held | state.get(effect.to, ANY)
        if how == How.EXTEND:
            return frozenset(value for value in held if isinstance(value, Entry)) or None
        if how == How.ADD and not effect.source:
            return frozenset(
                {self._loading.moved(value, signed(effect.number or 0)) for value in state.get(effect.to, ANY)}
            )
        if how == How.ADD:
            return added(state.get(effect.to, ANY), held) or added(held, state.get(effect.to, ANY))
        if how == How.ADDRESS and place is not None:
            if place.index:
                return None
            if place.relative:
                target = self._loading.operand(instruction, place, state)
                return frozenset({target or self._loading.named(instruction)})
            return frozenset({self._loading.moved(value, place.offset) for value in state.get(place.base, ANY)})
        if how == How.LOAD and place is not None:
            return self._loaded(instruction, place, state)
        return None

    def _loaded(self, instruction: Instruction, place: Place, state: State) -> frozenset[Value]:
        """Return the values that may be loaded from memory."""
        found = self._frames.loaded(place, state) if self._framed and place.base else None
        return found if found is not None else frozenset({self._loading.load(instruction, place, state)})
