"""References of code: to code that it calls, to data that it sets or points to, and to addresses that it names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property

from ..binary.pointing import within
from ..processors.decoding import (
    CALL,
    DIRECT,
    INDIRECT,
    INDIRECT_CALL,
    LEAVES,
    NEXT,
    UNCONDITIONAL,
    Effect,
    Instruction,
    Loaded,
    Place,
)
from .code import Code
from .states import Lent

# Functions that run a function that they are given, at once or at exit, with the number of that argument.
RUN = {
    **dict.fromkeys(("__cxa_atexit", "__cxa_thread_atexit", "__cxa_at_quick_exit", "atexit", "at_quick_exit"), 0),
    "on_exit": 0,
    "pthread_once": 1,
    "call_once": 1,
    "pthread_create": 2,
    "__cxa_throw": 2,
}

# Those of them that call it with the argument after it.
GIVES = frozenset({"__cxa_atexit", "__cxa_thread_atexit", "pthread_create"})
# How the names of functions start that note where code and variables are, for sanitizers, profiles and tracers: they do
# not call what they are given.
NOTES = (
    "__asan_",
    "__hwasan_",
    "__msan_",
    "__tsan_",
    "__ubsan_",
    "__sanitizer_",
    "__llvm_profile_",
    "__gcov_",
    "__cyg_",
)
# What a pointer is called that holds a resolver's answer.
RESOLVED = "chosen by a resolver"
WORD = 8  # bytes of a pointer
SMALL = 64  # bytes of a function that hands its argument on
# One reference: (address of the instruction, how it refers, address that it refers to). It may "call" code, "set" data,
# or make a pointer to it, "point"; "somewhere" is a call or jump to what no name tells, of address 0.
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
        self.lent: dict[tuple[int, int], Lent | None] = {}  # by function and register: what it does with memory there
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
            return target, self._wrapped(target)
        number = self._functions.starting_at(target)
        if number < 0:
            return target, ""
        if number not in self._run:
            name = self.code.name(number)
            self._run[number] = name if name in RUN else ""
        return target, self._run[number]

    def _wrapped(self, target: int) -> str:
        """Return the name out of `RUN` of the function that one without a name only jumps to; "" if it does not.

        glibc has atexit in every file that calls it, and in stripped ones it has no name.
        """
        number = self._functions.starting_at(target)
        if number < 0 or not self.code.sized(number) or self._functions.sizes[number] > SMALL:
            return ""
        if number not in self._run:
            self._run[number] = ""
            changed: set[int] = set()
            for instruction in self.code.decode(number):
                if instruction.flow_control == UNCONDITIONAL and within(
                    self._pointers.jumps, instruction.near_branch_target
                ):
                    name = self.landing(instruction.near_branch_target)[1]
                    passed = name in RUN and self._decoder.arguments[RUN[name]] not in changed
                    self._run[number] = name if passed else ""
                if instruction.flow_control != NEXT:
                    break
                changed.update(self._decoder.effect(instruction).writes)
        return self._run[number]

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
            return self._pointers.operand(reference, instruction.next_ip)
        if loaded == Loaded.NUMBER:
            return value if self._binary.fixed and self._binary.section_at(value) is not None else 0
        return self._pointers.follow(value) if loaded == Loaded.POINTER else value

    def external(self, instruction: Instruction) -> str:
        """Return the name of the external function or variable whose address an instruction uses; "" if none."""
        if self._binary.relocatable:
            reference = self.code.reference(instruction)
            if reference is None or self._pointers.target(reference, instruction.next_ip):
                return ""
            return self._pointers.target_name(reference)
        if not instruction.is_ip_rel_memory_operand:
            return ""
        slot = instruction.ip_rel_memory_address
        return RESOLVED if self._pointers.is_resolved(slot) else self._pointers.name(slot)

    def is_null(self, instruction: Instruction) -> bool:
        """Return whether an instruction uses a pointer that stays NULL."""
        return not self._binary.relocatable and self._pointers.is_null(instruction.ip_rel_memory_address)

    def operand(self, instruction: Instruction, place: Place) -> int:
        """Return the address of an operand in memory that no register but an index tells; 0 if it is unknown."""
        if not self._binary.relocatable:
            return place.offset % (1 << 64) if place.relative or self._binary.fixed else 0
        reference = self.code.reference(instruction)
        if reference is None:
            return place.offset if place.relative else 0
        return 0 if reference.through_slot else self._pointers.operand(reference, instruction.next_ip)

    def number(self, instruction: Instruction, effect: Effect) -> int:
        """Return the address of code, or of a variable, that a number in an instruction is; 0 if it is none."""
        if self._binary.relocatable:
            section = self.code.functions.section_of(instruction.ip)
            size = self._decoder.number_size
            reference = self._pointers.reference(section, instruction.next_ip - size, instruction.next_ip)
            # A distance is of an operand in memory.
            known = reference is not None and self._pointers.is_absolute(reference) and effect.number is not None
            return self._pointers.target(reference) if reference is not None and known else 0
        if not self._binary.fixed or effect.number is None:
            return 0
        variable = self.code.variables.symbol_at(effect.number)
        return effect.number if variable is not None or self._functions.starting_at(effect.number) >= 0 else 0

    # ---- pointers in data

    @cached_property
    def stored(self) -> Mapping[int, int]:
        """The pointers in data: the address that each leads to, by its own."""
        return dict(self._pointers.stored())

    def stored_at(self, address: int) -> int:
        """Return the address that the pointer in constant data leads to; 0 if none is there."""
        section = self._binary.section_at(address)
        if section is None or not section.constant:
            return 0
        if self._binary.relocatable:
            reference = self._pointers.reference(section, address, address + 1)
            return self._pointers.target(reference) if reference else 0
        # What is not written to at all is not relocated either.
        return self.stored.get(address, 0) if self._binary.fixed or section.writable else 0

    def entry(self, table: int, number: int, size: int) -> int:
        """Return where an entry of a table of jumps leads to: a pointer, or a shorter distance from the table."""
        place = table + number * size
        if size == WORD:
            return self.stored_at(place)
        section = self._binary.section_at(place)
        if self._binary.relocatable:
            reference = self._pointers.reference(section, place, place + 1) if section else None
            target = self._pointers.target(reference) if reference else 0
            return target - number * size if target else 0
        raw = self._binary.read(place, size)
        return table + int.from_bytes(raw, "little", signed=True) if len(raw) == size else 0

    # ---- functions

    def asks(self, number: int) -> bool:
        """Return whether a function asks what the CPU has, or reads what the toolchain's own code found."""
        if number not in self._asks:
            self._asks[number] = number >= 0 and any(map(self._is_question, self.code.decode(number)))
        return self._asks[number]

    def _is_question(self, instruction: Instruction) -> bool:
        if instruction.code in self._decoder.asking:
            return True
        if instruction.flow_control in DIRECT or instruction.flow_control in INDIRECT:
            target, name = self.called(instruction)
            return self._is_informant(name) or (not self._binary.stripped and self._is_informant(self._name_at(target)))
        if not instruction.is_ip_rel_memory_operand:
            return False
        if self._binary.relocatable:
            reference = self.code.reference(instruction)
            name = self._pointers.target_name(reference) if reference else ""
        else:
            slot = instruction.ip_rel_memory_address
            name = self._pointers.name(slot) or self.code.variables.name_at(self._pointers.follow(slot) or slot)
        return name.startswith(self._decoder.answers)

    def _is_informant(self, name: str) -> bool:
        return name in self._decoder.informants

    def _name_at(self, address: int) -> str:
        number = self._functions.starting_at(address) if address else -1
        return self.code.name(number) if number >= 0 else ""

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

        A function that is handed over to be run at once or at exit counts as called. Where calls through registers and
        tables lead is not seen.
        """
        registers = self._decoder.addresses()
        relocatable = self._binary.relocatable
        last = None
        for last in self.code.decode(number):
            instruction = last
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
                if not landing and not name and flow in INDIRECT:
                    yield instruction.ip, "somewhere", 0
                handed = registers.argument(RUN[name]) if name in RUN else 0
                if self._functions.is_code(handed):
                    yield instruction.ip, "call", handed
                continue
            target = self.pointed(instruction)
            registers.run(instruction, target)
            if target and not self._functions.is_code(target):
                yield instruction.ip, "point", target
        end = self._end(number, last)
        if end:
            yield end, "call", end

    def _end(self, number: int, last: Instruction | None) -> int:
        """Return where control goes on after the last byte of a function; 0 where it does not."""
        flow = self.code.flow(number)
        if flow is not None:
            return flow.end
        end = self._functions.overlap(number)
        # A call is taken not to return where nothing of the function comes after it.
        if end or last is None or last.flow_control in LEAVES or last.flow_control in (CALL, INDIRECT_CALL):
            return end
        after = self._functions.limit(number)
        return after if self._functions.section_of(last.ip) is self._binary.section_at(after) else 0
