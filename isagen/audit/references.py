"""References of code: to code that it calls, to data that it sets or points to, and to addresses that it names."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from ..binary.spans import within
from ..processors.decoding import DIRECT, INDIRECT, Instruction, Loaded
from .code import Code

# Functions that run a function that they are given, at once or at exit, with the number of that argument.
RUN = {
    **dict.fromkeys(("__cxa_atexit", "__cxa_thread_atexit", "__cxa_at_quick_exit", "atexit", "at_quick_exit"), 0),
    "on_exit": 0,
    "pthread_once": 1,
    "call_once": 1,
    "pthread_create": 2,
}

# One reference: (address of the instruction, how it refers, address that it refers to). It may "call" code, "set" data,
# or make a pointer to it, "point".
Event = tuple[int, str, int]


class References:
    """The references of the functions and pieces of `code`, by number."""

    def __init__(self, code: Code) -> None:
        self.code = code
        self._binary = code.binary
        self._pointers = code.pointers
        self._functions = code.functions
        self._decoder = code.decoder
        self._asks: dict[int, bool] = {}  # by function
        self._landings: dict[int, int] = {}  # by address
        self._run: dict[int, str] = {}  # by function, its name if it is one that runs another

    # ---- single instructions

    def landing(self, target: int) -> tuple[int, str]:
        """Return the address that a call of `target` leads to, through the linker's table, and a name out of `RUN`.

        The name may also be that of another external function.
        """
        if within(self._pointers.jumps, target):
            slot = self._decoder.jump(self._binary.read(target, self._decoder.jump_size), target)
            return (self._pointers.follow(slot), self._pointers.name(slot)) if slot else (0, "")
        if self._binary.stripped:
            return target, ""
        number = self._functions.starting_at(target)
        if number < 0:
            return target, ""
        if number not in self._run:
            name = self.code.name(number)
            self._run[number] = name if name in RUN else ""
        return target, self._run[number]

    def called(self, instruction: Instruction) -> tuple[int, str]:
        """Return the address that a call or jump leads to and the name of what is there; 0 and nothing if unknown."""
        near = instruction.flow_control in DIRECT
        if not near and not instruction.is_ip_rel_memory_operand:
            return 0, ""
        if self._binary.relocatable:
            reference = self.code.reference(instruction)
            if reference is not None:
                if not near and not reference.through_slot:
                    return 0, ""  # a variable holds the address
                return self._pointers.target(reference, instruction.next_ip), self._pointers.target_name(reference)
            return (instruction.near_branch_target, "") if near else (0, "")
        if near:
            return self.landing(instruction.near_branch_target)
        slot = instruction.ip_rel_memory_address
        return self._pointers.follow(slot), self._pointers.name(slot)

    def pointed(self, instruction: Instruction) -> int:
        """Return the address of code or data that an instruction loads into a register; 0 if it loads none."""
        loaded, value = self._decoder.loaded(instruction)
        if loaded == Loaded.NOTHING:
            return 0
        if self._binary.relocatable:
            reference = self.code.reference(instruction)
            if reference is None or (loaded == Loaded.POINTER and not reference.through_slot):
                return 0
            return self._pointers.target(reference, instruction.next_ip)
        if loaded == Loaded.NUMBER:
            return value if self._binary.fixed and self._binary.section_at(value) is not None else 0
        return self._pointers.follow(value) if loaded == Loaded.POINTER else value

    # ---- functions

    def asks(self, number: int) -> bool:
        """Return whether a function asks what the CPU has, or reads what the toolchain's own code found."""
        if number not in self._asks:
            asking, answers = self._decoder.asking, self._decoder.answers
            name_at = self.code.variables.name_at
            self._asks[number] = number >= 0 and any(
                instruction.code in asking
                or (
                    instruction.is_ip_rel_memory_operand
                    and name_at(instruction.ip_rel_memory_address).startswith(answers)
                )
                for instruction in self.code.decode(number)
            )
        return self._asks[number]

    def leads(self, number: int) -> Iterator[int]:
        """Yield the addresses that a function of a linked file may call or jump to, and others that it names."""
        for address in self.code.named_by(number):
            if not within(self._tables, address):
                yield address
                continue
            if address not in self._landings:
                is_code = self._functions.is_code(address)
                self._landings[address] = self.landing(address)[0] if is_code else self._pointers.follow(address)
            yield self._landings[address]

    @cached_property
    def _tables(self) -> list[tuple[int, int]]:
        """Where the linker's tables are, through which functions are called."""
        return sorted([*self._pointers.jumps, *self._pointers.spans])

    def calls(self, number: int) -> Iterator[tuple[int, int]]:
        """Yield what a function of a linked file calls by name: (address of the instruction, address of the code)."""
        for instruction in self.code.decode(number):
            flow = instruction.flow_control
            if flow in DIRECT:
                landing = self.landing(instruction.near_branch_target)[0]
            elif flow in INDIRECT:
                landing = self.called(instruction)[0]
            else:
                continue
            if landing:
                yield instruction.ip, landing

    def events(self, number: int) -> Iterator[Event]:
        """Yield, in the order of the code, what a function passes control to, and the data that it sets or points to.

        A function that is handed over to be run at once or at exit counts as called. Calls through registers and tables
        are not seen.
        """
        registers = self._decoder.addresses()
        relocatable = self._binary.relocatable
        for instruction in self.code.decode(number):
            for relative, address in registers.stores(instruction):
                place = address
                if relative and relocatable and (reference := self.code.reference(instruction)):
                    place = self._pointers.target(reference, instruction.next_ip)
                if place:
                    yield instruction.ip, "set", place
            flow = instruction.flow_control
            if flow in DIRECT or flow in INDIRECT:
                landing, name = self.called(instruction)
                if landing and not self.code.covers(number, landing):
                    yield instruction.ip, "call", landing
                handed = registers.argument(RUN[name]) if name in RUN else 0
                if self._functions.is_code(handed):
                    yield instruction.ip, "call", handed
                continue
            target = self.pointed(instruction)
            registers.run(instruction, target)
            if target and not self._functions.is_code(target):
                yield instruction.ip, "point", target
        piece = self.code.piece(number)
        end = piece.end if piece else self._functions.overlap(number)
        if end:
            yield end, "call", end

    def chosen(self) -> set[int]:
        """Return the functions that resolvers choose from: they run behind a check of the CPU."""
        found: set[int] = set()
        seen: set[int] = set()
        waiting = [self.code.entry(address) for address in self._pointers.resolvers]
        while waiting:
            number = waiting.pop()
            if number < 0 or number in seen:
                continue
            seen.add(number)
            for instruction in self.code.decode(number):
                target = self.pointed(instruction)
                if target and (choice := self._functions.starting_at(target)) >= 0:
                    found.add(choice)
        return found
