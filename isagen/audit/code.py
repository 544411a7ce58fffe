"""The code of a binary: its functions, what each one does, and what runs without anybody's call."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import chain
from operator import attrgetter

from ..binary.protocol import CODE_KINDS, DATA_KINDS, Binary, Binding, Kind, Reference, Section, Symbol
from ..binary.spans import within
from ..processors.x86.instructions import INVALID, Codes, iced_x86
from ..processors.x86.relocations import ELF
from .flow import CALL, CONDITIONAL, INDIRECT_BRANCH, INDIRECT_CALL, UNCONDITIONAL, Flow, follow

# iced-x86's OpAccess: write, conditional write, read and write, read and conditional write.
WRITES = frozenset({3, 4, 5, 6})
# iced-x86's OpKind: a register; immediates that an address fits into.
REGISTER, IMMEDIATES = 0, frozenset({9, 10, 14})
# iced-x86's Register: where the System V ABI for x86-64 has the first three arguments.
ARGUMENTS = (60, 59, 55)
# Functions that take another one and run it: at once, or at exit; by the argument that is the other one.
RUN = {
    **dict.fromkeys(("__cxa_atexit", "__cxa_thread_atexit", "__cxa_at_quick_exit", "atexit", "at_quick_exit"), 0),
    "on_exit": 0,
    "pthread_once": 1,
    "call_once": 1,
    "pthread_create": 2,
}
SIZE = (1 << 34) - 1
CODE = attrgetter("code")  # of an instruction; faster than a generator expression
# The addresses that an instruction of a linked file may name: where it jumps to, what it reads, writes or points to.
NAMED = attrgetter("near_branch_target", "ip_rel_memory_address")
NAMED_AT_FIXED_PLACES = attrgetter("near_branch_target", "ip_rel_memory_address", "immediate32")
# Jump tables of the linker.
TABLES = (".plt", ".iplt")
# What assemblers and linkers put between functions: zeros, breakpoints, and no-operations of all lengths.
PADDING = re.compile(
    rb"(?:[\x00\xcc]|\x66*\x90|\x66*\x2e?\x0f\x1f(?:\x00|\x40\x00|\x44\x00\x00|\x80\x00{4}|\x84\x00{5}))*"
)
# What Clang before 17 begins functions with under -fsanitize=function: a jump over its mark and the offset of the
# function's type, which are no instructions (LLVM 16, TargetInfo.cpp, X86_64TargetCodeGenInfo).
FUNCTION_TYPE = b"\xeb\x06v2"

# What `Code.events` yields: (address of the instruction, what it does, address that it does it to). It may "call" code,
# "set" data, or make a pointer to it, "point".
Event = tuple[int, str, int]


@dataclass(frozen=True)
class Root:
    """A function that nobody needs to call: `when` it runs."""

    address: int
    when: str


class Code:
    """The functions of an ELF file for x86-64.

    Functions are numbered by address. Their places come from the symbols; in a stripped file, also from what it says
    for unwinding the stack.
    """

    def __init__(self, binary: Binary) -> None:
        self.elf = binary
        self.pointers = binary.pointers(ELF)
        executable = {s.index: s for s in binary.sections if s.executable and self._is_code(s.address)}
        packed: list[int] = []  # start, preference, size, symbol's number + 1: in one number each, which sorts fast
        for symbol in binary.symbols():
            # Some are beyond the last byte: `etext` and its like.
            if symbol.section not in executable or not self._is_code(symbol.address):
                continue
            local = symbol.binding == Binding.LOCAL
            if symbol.kind in CODE_KINDS or (symbol.kind == Kind.LABEL and not local):
                packed.append(_pack(symbol.address, int(local), symbol.size, symbol.number + 1))
        packed += [_pack(section.address, 3, 0, 0) for section in executable.values()]
        self._number(packed)
        tails = list(self._tails())
        if tails:
            packed += tails
            self._number(packed)
        more = [_pack(start, 2, size, 0) for start, size in binary.unwound() if self._is_new(start, size)]
        if more:
            self._number(packed + more)
        self._pieces: list[tuple[int, Flow]] = []
        self._piece_at: dict[int, int] = {}
        self._asks: dict[int, bool] = {}  # by function
        self._landings: dict[int, int] = {}  # by address
        self._run: dict[int, str] = {}  # by function, its name if it is one that runs another

    def _number(self, packed: list[int]) -> None:
        """Number functions by address; of those at one address, the preferred one counts."""
        packed.sort()
        self.starts, self.sizes, self.numbers = array("Q"), array("Q"), array("I")
        for one in packed:
            start = one >> 68
            if not self.starts or self.starts[-1] != start:
                self.starts.append(start)
                self.sizes.append(one >> 32 & SIZE)
                self.numbers.append(one & 0xFFFFFFFF)
            elif not self.sizes[-1]:
                self.sizes[-1] = one >> 32 & SIZE

    def _tails(self) -> Iterator[int]:
        """Yield, as `_number` takes them, the parts of functions that come after one nested in them."""
        reach, outer = 0, 0
        for number in range(len(self.starts) - 1):
            end = self.end(number)
            if end >= reach:
                reach, outer = end, number
            elif end and end < self.starts[number + 1]:
                section = self.elf.section_at(self.starts[outer])
                if section is not None and section is self.elf.section_at(end):
                    yield _pack(end, 1, reach - end, self.numbers[outer])

    def _is_new(self, address: int, size: int) -> bool:
        """Return whether no function of known length covers an address that is code.

        glibc's __restore_rt is said to start one byte earlier than it does (its sigaction.c says why): what starts just
        before a known function and goes on in it is that function.
        """
        number = self.at(address)
        if number < 0 or address < self.end(number):
            return False
        after = self.starts[number + 1] if number + 1 < len(self.starts) else address + size
        return after >= address + size or after - address >= 16

    def __len__(self) -> int:
        return len(self.starts)

    def at(self, address: int) -> int:
        """Return the number of the function at an address, or of the one before; -1 if it is no code."""
        section = self.elf.section_at(address)
        return bisect_right(self.starts, address) - 1 if section is not None and section.executable else -1

    def entry(self, address: int) -> int:
        """Return the number of what runs where control gets to `address`; -1 if it is no code.

        That is a function or, where nobody says how long one is, the code there as far as it can be followed. Such a
        piece has a number beyond those of functions.
        """
        number = self.at(address)
        if number < 0 or address < self.end(number):
            return number
        if address not in self._piece_at:
            section = self.elf.section_at(address)
            assert section is not None
            low = self.end(number) or self.starts[number]
            high = section.address + section.size
            if number + 1 < len(self.starts):
                high = min(high, self.starts[number + 1])
            self._piece_at[address] = len(self.starts) + len(self._pieces)
            self._pieces.append((address, follow(self.elf.read, self._branch, address, low, high)))
        return self._piece_at[address]

    def body(self, number: int) -> int:
        """Return the number of what runs when a function is called: its own, if somebody says how long it is."""
        return number if self.sized(number) or self._piece(number) else self.entry(self.starts[number])

    def _piece(self, number: int) -> tuple[int, Flow] | None:
        return self._pieces[number - len(self.starts)] if number >= len(self.starts) else None

    def start(self, number: int) -> int:
        """Return a function's first address."""
        piece = self._piece(number)
        return piece[0] if piece else self.starts[number]

    def symbol(self, number: int) -> Symbol | None:
        """Return the symbol of a function, if it has one."""
        piece = self._piece(number)
        if piece:
            number = self.at(piece[0])
            if self.starts[number] != piece[0]:
                return self._label(piece[0])
        place = self.numbers[number]
        return self.elf.symbol(place - 1) if place else None

    def _label(self, address: int) -> Symbol | None:
        """Return the local label at an address, as assembly without types has them."""
        for symbol in self.elf.symbols():
            if symbol.address == address and symbol.kind == Kind.LABEL and symbol.defined and symbol.named:
                return symbol
        return None

    def name(self, number: int) -> str:
        """Return a function's name, or where it is."""
        symbol = self.symbol(number)
        if symbol is not None:
            return self.elf.name(symbol)
        return f"function at {self.start(number):#x}"

    def named(self, number: int) -> bool:
        """Return whether a function has a name."""
        return self.symbol(number) is not None

    def section(self, number: int) -> Section:
        """Return the section that a function is in."""
        section = self.elf.section_at(self.start(number))
        assert section is not None
        return section

    def end(self, number: int) -> int:
        """Return the address after a function's last byte; 0 where nobody says it."""
        return self.starts[number] + self.sizes[number] if self.sizes[number] else 0

    def extent(self, number: int) -> tuple[int, int]:
        """Return a function's first address and the one after its last, up to the next function at most."""
        start = self.starts[number]
        section = self.elf.section_at(start)
        limit = section.address + section.size if section is not None else start
        if number + 1 < len(self.starts):
            limit = min(limit, self.starts[number + 1])
        end = self.end(number)
        return start, min(end, limit) if end else limit

    def sized(self, number: int) -> bool:
        """Return whether somebody says how long a function is, so that all its bytes are instructions."""
        return number < len(self.starts) and self.end(number) != 0

    def blocks(self, number: int) -> tuple[tuple[int, int], ...]:
        """Return where a function's instructions are: (first address, the one after the last) of each block."""
        piece = self._piece(number)
        if piece:
            return piece[1].blocks
        start, end = self.extent(number)
        marked = self.elf.read(start, len(FUNCTION_TYPE)) == FUNCTION_TYPE
        return ((start + 8 if marked else start, end),)

    def covers(self, number: int, address: int) -> bool:
        """Return whether an address is in a function."""
        return any(start <= address < end for start, end in self.blocks(number))

    def codes(self, number: int) -> Codes:
        """Return the codes of a function's instructions."""
        read, decoder = self.elf.read, iced_x86.Decoder
        found = [map(CODE, decoder(64, read(start, end - start), ip=start)) for start, end in self.blocks(number)]
        return frozenset(chain.from_iterable(found))

    def asks(self, number: int) -> bool:
        """Return whether a function asks what the CPU has: by CPUID, or by what libgcc found with it (__cpu_model)."""
        if number not in self._asks:
            self._asks[number] = number >= 0 and any(
                instruction.code == iced_x86.Code.CPUID
                or (
                    instruction.is_ip_rel_memory_operand
                    and self.object_at(instruction.ip_rel_memory_address).startswith(("__cpu_model", "__cpu_features2"))
                )
                for instruction in self.decode(number)
            )
        return self._asks[number]

    def decode(self, number: int) -> Iterator[iced_x86.Instruction]:
        """Yield a function's instructions."""
        for start, end in self.blocks(number):
            yield from iced_x86.Decoder(64, self.elf.read(start, end - start), ip=start)

    def first(self, number: int, codes: Codes) -> tuple[int, str]:
        """Return the address and the text of a function's first instruction among `codes`."""
        formatter = iced_x86.Formatter(iced_x86.FormatterSyntax.INTEL)
        formatter.hex_prefix, formatter.hex_suffix = "0x", ""
        formatter.rip_relative_addresses = True
        formatter.space_after_operand_separator = True
        for instruction in self.decode(number):
            if instruction.code in codes:
                if instruction.code == INVALID:
                    return instruction.ip, "bytes that are no known instruction"
                return instruction.ip, formatter.format(instruction)
        return self.start(number), ""

    def between(self, pieces: Iterable[int] = ()) -> Iterator[tuple[int, bytes]]:
        """Yield the bytes in no function of known length, and in none of the `pieces`, that are not just padding."""
        known = sorted(block for piece in pieces for block in self.blocks(piece))
        for start, end in self._gaps:
            inside = [block for block in known if start <= block[0] < end] if known else []
            for low, high in zip([start, *(b[1] for b in inside)], [*(b[0] for b in inside), end], strict=True):
                raw = self.elf.read(low, high - low) if low < high else b""
                code = raw[_padding(raw) :]
                if code:
                    yield high - len(code), code

    @cached_property
    def _gaps(self) -> list[tuple[int, int]]:
        """Where code is, or data among it, that is in no function: (first address, address after the last)."""
        found = []
        for number, start in enumerate(self.starts):
            end = self.end(number)
            if not end:
                continue
            section = self.elf.section_at(start)
            assert section is not None
            limit = section.address + section.size
            if number + 1 < len(self.starts):
                limit = min(limit, self.starts[number + 1])
            if end < limit:
                raw = self.elf.read(end, limit - end)
                if _padding(raw) < len(raw):
                    found.append((end, limit))
        return found

    def unowned(self) -> Iterator[int]:
        """Yield the numbers of pieces of code in no function that functions, or other such pieces, lead to.

        They call it, jump to it, or take its address; that may also be the address of data.
        """
        if not self._gaps:
            return
        pieces: list[int] = []  # looked through as well, as they are found
        seen: set[int] = set()
        for number in chain(range(len(self.starts)), pieces):  # upwards, as the file is read
            if not self.elf.relocatable and not any(within(self._gaps, one) for one in self.named_by(number)):
                continue
            for instruction in self.decode(number):
                near = instruction.flow_control in (CALL, UNCONDITIONAL, CONDITIONAL)
                target = self._called(instruction)[0] if near else self._pointed(instruction)
                if not target or not within(self._gaps, target) or self.covers(number, target):
                    continue
                found = self.entry(target)
                piece = self._piece(found)
                if found in seen or piece is None or not (near or (piece[1].sound and not self.object_at(target))):
                    continue
                seen.add(found)
                pieces.append(found)
                yield found

    def named_by(self, number: int) -> set[int]:
        """Return the addresses that the instructions of a linked file's function name, and numbers that are none."""
        read, decoder = self.elf.read, iced_x86.Decoder
        named = NAMED_AT_FIXED_PLACES if self.elf.fixed else NAMED
        found = [map(named, decoder(64, read(start, end - start), ip=start)) for start, end in self.blocks(number)]
        return set(chain.from_iterable(chain.from_iterable(found)))

    # What runs by itself, and what code refers to.

    def roots(self) -> tuple[Root, ...]:
        """Return what the loader runs, before anybody asked what the CPU has, or at exit, whatever was answered."""
        return tuple(dict.fromkeys(Root(address, when) for address, when in self.pointers.called_by_loader()))

    def _landing(self, target: int) -> tuple[int, str]:
        """Follow a jump table of the linker (.plt): return the address that `target` leads to, and a name out of `RUN`.

        The name may also be that of another external function.
        """
        section = self.elf.section_at(target)
        if section is not None and section.name.startswith(TABLES):
            for instruction in iced_x86.Decoder(64, self.elf.read(target, 24), ip=target):
                # It jumps through the slot, or loads it for a thunk (-z retpolineplt).
                if instruction.is_ip_rel_memory_operand:
                    slot = instruction.ip_rel_memory_address
                    return self.pointers.follow(slot), self.pointers.name(slot)
            return 0, ""
        if self.elf.stripped:
            return target, ""
        number = self.at(target)
        if number < 0 or self.starts[number] != target:
            return target, ""
        if number not in self._run:
            name = self.name(number)
            self._run[number] = name if name in RUN else ""
        return target, self._run[number]

    def _relocation(self, instruction: iced_x86.Instruction) -> Reference | None:
        """Return the relocation of an instruction in an object."""
        section = self.elf.section_at(instruction.ip)
        assert section is not None
        return self.pointers.reference(section, instruction.ip, instruction.next_ip)

    def _branch(self, instruction: iced_x86.Instruction) -> int:
        """Return where a jump inside a function leads to; 0 if that is not known yet."""
        if self.elf.relocatable and self._relocation(instruction):
            return 0
        return instruction.near_branch_target

    def _called(self, instruction: iced_x86.Instruction) -> tuple[int, str]:
        """Return the address that a call or jump leads to and the name of what is there; 0 and nothing if unknown."""
        near = instruction.flow_control in (CALL, UNCONDITIONAL, CONDITIONAL)
        if not near and not instruction.is_ip_rel_memory_operand:
            return 0, ""
        if self.elf.relocatable:
            reference = self._relocation(instruction)
            if reference is not None:
                if not near and not reference.through_slot:
                    return 0, ""  # a variable holds the address
                return self.pointers.target(reference, instruction.next_ip), self.pointers.target_name(reference)
            return (instruction.near_branch_target, "") if near else (0, "")
        if near:
            return self._landing(instruction.near_branch_target)
        slot = instruction.ip_rel_memory_address
        return self.pointers.follow(slot), self.pointers.name(slot)

    def _pointed(self, instruction: iced_x86.Instruction) -> int:
        """Return the address of code or data that an instruction loads into a register; 0 if it loads none."""
        lea = instruction.mnemonic == iced_x86.Mnemonic.LEA
        if instruction.op0_kind != REGISTER or not (lea or instruction.mnemonic in _moves()):
            return 0
        memory = instruction.is_ip_rel_memory_operand
        immediate = instruction.op_count == 2 and instruction.op1_kind in IMMEDIATES
        if not memory and not immediate:
            return 0
        loads = memory and not lea
        if self.elf.relocatable:
            reference = self._relocation(instruction)
            if reference is None or (loads and not reference.through_slot):
                return 0
            return self.pointers.target(reference, instruction.next_ip)
        if immediate:
            value = instruction.immediate(1) if self.elf.fixed else 0
            return value if self.elf.section_at(value) is not None else 0
        target = instruction.ip_rel_memory_address
        return self.pointers.follow(target) if loads else target

    def leads(self, number: int) -> Iterator[int]:
        """Yield the addresses that a function of a linked file may call or jump to, and others that it names."""
        for address in self.named_by(number):
            if not within(self._tables, address):
                yield address
                continue
            if address not in self._landings:
                is_code = self._is_code(address)
                self._landings[address] = self._landing(address)[0] if is_code else self.pointers.follow(address)
            yield self._landings[address]

    @cached_property
    def _tables(self) -> list[tuple[int, int]]:
        """Where the linker's tables are, through which functions are called: .plt, .got."""
        jumps = [(s.address, s.address + s.size) for s in self.elf.sections if s.name.startswith(TABLES)]
        return sorted([*jumps, *self.pointers.spans])

    def calls(self, number: int) -> Iterator[tuple[int, int]]:
        """Yield what a function of a linked file calls by name: (address of the instruction, address of the code)."""
        for instruction in self.decode(number):
            flow = instruction.flow_control
            if flow in (CALL, UNCONDITIONAL, CONDITIONAL):
                landing = self._landing(instruction.near_branch_target)[0]
            elif flow in (INDIRECT_CALL, INDIRECT_BRANCH):
                landing = self._called(instruction)[0]
            else:
                continue
            if landing:
                yield instruction.ip, landing

    def events(self, number: int) -> Iterator[Event]:
        """Yield, in the order of the code, what a function passes control to, and the data that it sets or points to.

        A function that is handed over to be run at once or at exit counts as called. Calls through registers and tables
        are not seen.
        """
        registers: dict[int, int] = {}  # what each points to, as far as that is known
        factory = iced_x86.InstructionInfoFactory()
        full = iced_x86.RegisterExt.full_register
        for instruction in self.decode(number):
            info = factory.info(instruction)
            for memory in info.used_memory():
                if memory.access in WRITES:
                    if instruction.is_ip_rel_memory_operand:
                        reference = self._relocation(instruction) if self.elf.relocatable else None
                        place = (
                            self.pointers.target(reference, instruction.next_ip) if reference else memory.displacement
                        )
                    else:
                        place = registers.get(memory.base, 0)
                    if place:
                        yield instruction.ip, "set", place
            flow = instruction.flow_control
            if flow in (CALL, UNCONDITIONAL, CONDITIONAL, INDIRECT_CALL, INDIRECT_BRANCH):
                landing, name = self._called(instruction)
                if landing and not self.covers(number, landing):
                    yield instruction.ip, "call", landing
                handed = registers.get(ARGUMENTS[RUN[name]], 0) if name in RUN else 0
                if self._is_code(handed):
                    yield instruction.ip, "call", handed
                continue
            target = self._pointed(instruction)
            source = instruction.op1_register if instruction.mnemonic == iced_x86.Mnemonic.MOV else 0
            copied = registers.get(source, 0) if source else 0
            for used in info.used_registers():
                if used.access in WRITES:
                    registers.pop(full(used.register), None)
            if target or copied:
                registers[full(instruction.op0_register)] = target or copied
            if target and not self._is_code(target):
                yield instruction.ip, "point", target
        piece = self._piece(number)
        if piece:
            if piece[1].end:
                yield piece[1].end, "call", piece[1].end
        elif number + 1 < len(self.starts):
            end = self.extent(number)[1]
            if self.end(number) > self.starts[number + 1] == end:
                yield end, "call", end

    def _is_code(self, address: int) -> bool:
        section = self.elf.section_at(address)
        return section is not None and section.executable

    def selected(self) -> set[int]:
        """Return the functions that ifunc resolvers choose from: they run behind a check of the CPU."""
        found: set[int] = set()
        seen: set[int] = set()
        waiting = [self.entry(address) for address in self.pointers.resolvers]
        while waiting:
            number = waiting.pop()
            if number < 0 or number in seen:
                continue
            seen.add(number)
            for instruction in self.decode(number):
                target = self._pointed(instruction)
                if target and (chosen := self.at(target)) >= 0 and self.starts[chosen] == target:
                    found.add(chosen)
        return found

    @cached_property
    def _variables(self) -> tuple[array[int], array[int], array[int]]:
        """The variables that the symbols tell of: their addresses, in order, sizes, and symbols' numbers."""
        found = sorted(
            (symbol.address, symbol.size, symbol.number)
            for symbol in self.elf.symbols()
            if symbol.kind in DATA_KINDS and symbol.defined
        )
        return array("Q", [f[0] for f in found]), array("Q", [f[1] for f in found]), array("I", [f[2] for f in found])

    def object_at(self, address: int) -> str:
        """Return the name of the variable at an address, if the symbols tell."""
        addresses, sizes, numbers = self._variables
        place = bisect_right(addresses, address) - 1
        if place < 0 or address >= addresses[place] + max(sizes[place], 1):
            return ""
        return self.elf.name(self.elf.symbol(numbers[place]))

    def bindable(self) -> Iterator[tuple[int, Symbol, str]]:
        """Yield what other files may bind to: (function's number, symbol, why)."""
        binary = self.elf
        reasons = {Binding.WEAK: "weak", Binding.UNIQUE: "unique"}
        if not binary.relocatable:  # every function of another object is
            reasons[Binding.GLOBAL] = "exported"
        found: dict[int, tuple[int, Symbol, str]] = {}
        for symbol in binary.exports():
            if symbol.kind not in (Kind.FUNCTION, Kind.LABEL) or not symbol.defined:
                continue
            if not symbol.visible or symbol.binding not in reasons:
                continue
            number = self.at(symbol.address)
            why = reasons[symbol.binding]
            if number >= 0 and self.starts[number] == symbol.address:
                known = found.get(number)
                if known is None or (known[2] == "exported" and why != "exported"):
                    found[number] = (number, symbol, why)
        yield from found.values()


def _padding(raw: bytes) -> int:
    """Return how many bytes of padding `raw` starts with."""
    found = PADDING.match(raw)
    return found.end() if found else 0


def _pack(start: int, preference: int, size: int, number: int) -> int:
    return start << 68 | preference << 66 | min(size, SIZE) << 32 | number


@cache
def _moves() -> frozenset[int]:
    """Return iced-x86's mnemonics of MOV and of its conditional kinds."""
    names = vars(iced_x86.Mnemonic)
    return frozenset(number for name, number in names.items() if name == "MOV" or name.startswith("CMOV"))


def codes_of(raw: bytes, address: int) -> Codes:
    """Return the codes of the instructions in `raw`."""
    return frozenset(map(CODE, iced_x86.Decoder(64, raw, ip=address)))
