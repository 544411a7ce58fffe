"""The code of a binary: its functions, the pieces of code whose size no symbol tells, and variables by address."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections import deque
from collections.abc import Iterator, Mapping
from functools import cached_property

from ..binary.pointing import Reference
from ..binary.protocol import DATA_KINDS, Binary, Kind, Section, Symbol
from ..processors.decoding import CALL, INDIRECT_CALL, LEAVES, Codes, Decoder, Instruction
from .flow import Flow, Follower
from .functions import Functions


class Code:
    """The code of a binary, by the numbers of `functions`.

    Where a function's size is unknown, or code belongs to no function, what runs there is a piece: the code that
    control reaches from an entry. Pieces have numbers beyond those of the functions.
    """

    def __init__(self, binary: Binary, decoder: Decoder) -> None:
        self.binary = binary
        self.decoder = decoder
        self._mark = decoder.mark
        self.pointers = binary.pointers(decoder.relocations[binary.format])
        self.functions = Functions(binary)
        self.variables = Variables(binary)
        self._first_piece = len(self.functions)
        self._pieces: list[tuple[int, Flow]] = []
        self._piece_at: dict[int, int] = {}

    def __len__(self) -> int:
        """Return the number of functions; pieces come after them."""
        return len(self.functions)

    # ---- where control arrives

    def entry(self, address: int) -> int:
        """Return the number of what runs where control arrives at `address`; -1 if it is no code.

        That is a function of known size, or a piece.
        """
        functions = self.functions
        number = functions.at(address)
        if number < 0 or address < functions.end(number):
            return number
        if address not in self._piece_at:
            low = functions.end(number) or functions.starts[number]
            follower = Follower(self.decoder, self.binary.read, self.branch, low, functions.limit(number))
            self._piece_at[address] = self._first_piece + len(self._pieces)
            self._pieces.append((address, follower.follow(address)))
        return self._piece_at[address]

    def body(self, number: int) -> int:
        """Return the number of what runs when a function is called: itself, or a piece where its size is unknown."""
        return number if self.sized(number) or self.piece(number) else self.entry(self.functions.starts[number])

    def flow(self, number: int) -> Flow | None:
        """Return how control flows through a piece, or through what a function goes on with after its size."""
        return self.piece(number) or self._tails.get(number)

    def piece(self, number: int) -> Flow | None:
        """Return how control flows through a piece; None for a function."""
        found = self._piece(number)
        return found[1] if found else None

    def _piece(self, number: int) -> tuple[int, Flow] | None:
        return self._pieces[number - self._first_piece] if number >= self._first_piece else None

    def branch(self, instruction: Instruction) -> int:
        """Return where a jump inside a function leads to; 0 if the linker has yet to say it."""
        if self.binary.relocatable and self.reference(instruction):
            return 0
        return instruction.near_branch_target

    def reference(self, instruction: Instruction) -> Reference | None:
        """Return the relocation of an instruction in an object."""
        section = self.functions.section_of(instruction.ip)
        return self.pointers.reference(section, instruction.ip, instruction.next_ip)

    @cached_property
    def gaps(self) -> tuple[tuple[int, int], ...]:
        """Where bytes are that are in no function of known size, apart from padding: (first, after the last)."""
        return tuple((self.functions.end(number), self.functions.limit(number)) for number in self._before_gaps)

    @cached_property
    def tails(self) -> tuple[tuple[int, int], ...]:
        """Where functions go on after their size: (first address, address after the last) of each block, in order."""
        return tuple(sorted(block for flow in self._tails.values() for block in flow.blocks))

    @cached_property
    def _before_gaps(self) -> tuple[int, ...]:
        """The functions of known size that come before bytes that are neither of a function nor padding."""
        found = []
        functions, padding = self.functions, self.decoder.padding
        for number in range(len(functions)):
            end = functions.end(number)
            if end and end < (limit := functions.limit(number)):
                raw = self.binary.read(end, limit - end)
                if padding(raw) < len(raw):
                    found.append(number)
        return tuple(found)

    @cached_property
    def _tails(self) -> Mapping[int, Flow]:
        """How control goes on after the size of functions whose last instruction leads, or reaches, beyond it."""
        flows = ((number, self._tail(number)) for number in self._before_gaps)
        return {number: flow for number, flow in flows if flow is not None}

    def _tail(self, number: int) -> Flow | None:
        """Return how control goes on after a function's size; None where it does not."""
        start, end = self.functions.extent(number)
        every = deque(self.decoder.decode(self.binary.read(start, end - start), start), maxlen=1)
        if not every:
            return None
        last = every.pop()
        unknown = last.code == self.decoder.invalid
        cut = unknown and last.ip + self.decoder.longest > end
        if last.flow_control in LEAVES and not cut:
            return None
        first = last.ip if cut else end
        follower = Follower(self.decoder, self.binary.read, self.branch, first, self.functions.limit(number))
        flow = follower.follow(first)
        # After a call that does not return, and after data, there may be data.
        runs_on = not unknown and last.flow_control not in (CALL, INDIRECT_CALL)
        return flow if flow.blocks and (runs_on or flow.sound) else None

    # ---- what it is called, and where it is

    def start(self, number: int) -> int:
        """Return the first address of a function or piece."""
        piece = self._piece(number)
        return piece[0] if piece else self.functions.starts[number]

    def symbol(self, number: int) -> Symbol | None:
        """Return the symbol of a function or piece, if it has one."""
        piece = self._piece(number)
        if not piece:
            return self.functions.symbol(number)
        found = self.functions.starting_at(piece[0])
        return self.functions.symbol(found) if found >= 0 else self._label(piece[0])

    def _label(self, address: int) -> Symbol | None:
        """Return the local label at an address, as assembly without types has them."""
        for symbol in self.binary.symbols():
            if symbol.address == address and symbol.kind == Kind.LABEL and symbol.defined and symbol.named:
                return symbol
        return None

    def name(self, number: int) -> str:
        """Return a function's name, or where it is."""
        symbol = self.symbol(number)
        if symbol is not None:
            return self.binary.name(symbol)
        return f"function at {self.start(number):#x}"

    def named(self, number: int) -> bool:
        """Return whether a function has a name."""
        return self.symbol(number) is not None

    def section(self, number: int) -> Section:
        """Return the section that a function is in."""
        return self.functions.section_of(self.start(number))

    def sized(self, number: int) -> bool:
        """Return whether the size is known, so that all bytes are instructions."""
        return number < self._first_piece and self.functions.end(number) != 0

    # ---- its instructions

    def blocks(self, number: int) -> tuple[tuple[int, int], ...]:
        """Return where a function's instructions are: (first address, the one after the last) of each block."""
        piece = self._piece(number)
        if piece:
            return piece[1].blocks
        start, end = self.functions.extent(number)
        marked = self.binary.read(start, len(self._mark)) == self._mark
        first = start + self.decoder.mark_size if marked else start
        tail = self._tails.get(number)
        if tail is None:
            return ((first, end),)
        return ((first, min(end, tail.blocks[0][0])), *tail.blocks)

    def covers(self, number: int, address: int) -> bool:
        """Return whether an address is in a function."""
        return any(start <= address < end for start, end in self.blocks(number))

    def codes(self, number: int) -> Codes:
        """Return the codes of a function's instructions."""
        read, codes = self.binary.read, self.decoder.codes
        found = [codes(read(start, end - start), start) for start, end in self.blocks(number)]
        return found[0] if len(found) == 1 else frozenset().union(*found)

    def named_by(self, number: int) -> set[int]:
        """Return the addresses that the instructions of a linked file's function name, and numbers that are none."""
        read, named, fixed = self.binary.read, self.decoder.named, self.binary.fixed
        found = [named(read(start, end - start), start, fixed) for start, end in self.blocks(number)]
        return found[0] if len(found) == 1 else set().union(*found)

    def decode(self, number: int) -> Iterator[Instruction]:
        """Yield a function's instructions."""
        for start, end in self.blocks(number):
            yield from self.decoder.decode(self.binary.read(start, end - start), start)

    def first(self, number: int, codes: Codes) -> tuple[int, str]:
        """Return the address and the text of a function's first instruction among `codes`."""
        for instruction in self.decode(number):
            if instruction.code in codes:
                if instruction.code == self.decoder.invalid:
                    return instruction.ip, "bytes that are no known instruction"
                return instruction.ip, self.decoder.text(instruction)
        return self.start(number), ""


class Variables:
    """The variables that a binary's symbols name."""

    def __init__(self, binary: Binary) -> None:
        self._binary = binary

    @cached_property
    def _sorted(self) -> tuple[array[int], array[int], array[int]]:
        """Their addresses, in order, sizes, and symbols' numbers."""
        found = sorted(
            (symbol.address, symbol.size, symbol.number)
            for symbol in self._binary.symbols()
            if symbol.kind in DATA_KINDS and symbol.defined
        )
        return array("Q", [f[0] for f in found]), array("Q", [f[1] for f in found]), array("I", [f[2] for f in found])

    def name_at(self, address: int) -> str:
        """Return the name of the variable at an address, if a symbol names one."""
        symbol = self.symbol_at(address)
        return self._binary.name(symbol) if symbol is not None else ""

    def symbol_at(self, address: int) -> Symbol | None:
        """Return the symbol of the variable at an address; None if no symbol names one."""
        addresses, sizes, numbers = self._sorted
        place = bisect_right(addresses, address) - 1
        if place < 0 or address >= addresses[place] + max(sizes[place], 1):
            return None
        return self._binary.symbol(numbers[place])

    def after(self, address: int) -> int:
        """Return the address of the first variable behind an address; 0 if there is none."""
        addresses, _, _ = self._sorted
        place = bisect_right(addresses, address)
        return addresses[place] if place < len(addresses) else 0
