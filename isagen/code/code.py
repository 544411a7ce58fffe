"""The code of a binary by number: its functions, then the pieces of code whose size no symbol tells."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property

from ..binary.protocol import Binary, Section, Symbol, SymbolKind
from ..processors.decoding import CALLS, LEAVES, Codes, Decoder, Instruction, Kind, Reference
from .flow import Flow, follow
from .functions import Functions
from .variables import Variables

# The pieces of code between two functions cover its bytes so many times at most, and so many bytes more: they overlap
# where control comes to the middle of one. What comes beyond that is one piece, which has no bytes and is not sound.
OVERLAPS, MORE = 8, 1 << 16


class Code:
    """The code of a binary.

    Numbers below `len` are functions. Where a function's size is unknown, or code belongs to no function, what runs
    there is a piece: the code that control reaches from an entry. Pieces have the numbers beyond.
    """

    def __init__(self, binary: Binary, decoder: Decoder) -> None:
        self.binary = binary
        self.decoder = decoder
        self.pointers = binary.pointers(decoder.abi.relocations)
        self.functions = Functions(binary)
        self.variables = Variables(binary)
        self._pieces: list[tuple[int, Flow]] = []
        self._piece_at: dict[int, int] = {}
        self._followed: Counter[int] = Counter()  # by where code of unknown size begins: the bytes of its pieces
        self._tangles: dict[int, int] = {}  # by where code of unknown size begins: its piece without bytes
        self._ends: dict[int, int] = {}

    def __len__(self) -> int:
        """Return the number of functions; pieces come after them."""
        return len(self.functions)

    # ---- where control arrives

    def entry(self, address: int) -> int:
        """Return the number of the function of known size, or of the piece, that runs from `address`; -1 if it is no
        code.
        """
        number = self.functions.at(address)
        if number < 0 or address < self.functions.end(number) or address < self._end(number):
            return number
        if address not in self._piece_at:
            low, high = self._end(number) or self.functions.starts[number], self.functions.limit(number)
            if self._followed[low] < OVERLAPS * (high - low) + MORE:
                flow = follow(self.decoder, self.binary.read, self.target, address, low, high)
                self._followed[low] += sum(end - start for start, end in flow.blocks)
            elif low in self._tangles:
                return self._tangles[low]
            else:
                flow = Flow((), 0, sound=False)
                self._tangles[low] = len(self) + len(self._pieces)
            self._piece_at[address] = len(self) + len(self._pieces)
            self._pieces.append((address, flow))
        return self._piece_at[address]

    def body(self, number: int) -> int:
        """Return the number of a function's code: its own, or that of a piece if its size is unknown."""
        return number if self.sized(number) or self.piece(number) else self.entry(self.functions.starts[number])

    def piece(self, number: int) -> Flow | None:
        """Return how control flows through a piece; None for a function."""
        return self._pieces[number - len(self)][1] if number >= len(self) else None

    def target(self, reference: Reference) -> int:
        """Return the target of a direct jump; 0 before the link."""
        if self.binary.relocatable:
            section = self.functions.section_of(reference.at)
            if self.pointers.relocations(section, reference.at, reference.after):
                return 0
        return reference.address

    def _end(self, number: int) -> int:
        """Return the address after a function's last whole instruction; 0 where its size is unknown.

        A symbol's size may end in the middle of an instruction.
        """
        start, end = self.functions.extent(number)
        if not self.functions.sizes[number] or end == self.functions.limit(number):
            return end if self.functions.sizes[number] else 0
        if number not in self._ends:
            last = self._last(start, end)
            cut = last is not None and last.kind is Kind.INVALID and end - last.at < self.decoder.longest
            raw = self.binary.read(last.at, self.decoder.longest) if last is not None and cut else b""
            whole = next(iter(self.decoder.decode(raw, last.at)), None) if last is not None and raw else None
            fits = whole is not None and whole.code != self.decoder.invalid
            self._ends[number] = min(whole.next_ip, self.functions.limit(number)) if whole and fits else end
        return self._ends[number]

    def falls_through_to(self, number: int, last: Reference | None = None) -> int:
        """Return where control goes on behind the last byte of a function or piece; 0 where it does not.

        `last` is the last reference of its code, where that is at hand. Padding after an instruction that leaves does
        not run: some compilers include it in the size.
        """
        piece = self.piece(number)
        if piece is not None:
            return piece.end
        start, end = self.functions.starts[number], self._end(number)
        after = self.functions.limit(number)
        if not end or (end == after and self.functions.section_of(start) is not self.binary.section_at(after)):
            return 0
        last = last or self._last(start, end)
        only_padding = self._is_padding(end, after)
        if last is not None and (last.kind in LEAVES or last.kind in CALLS) and self._is_padding(last.after, end):
            # A call may not return, and data may come after it.
            runs = last.kind in CALLS and not only_padding and self._is_sound(end)
            return end if runs else 0
        return after if only_padding else end

    def _last(self, start: int, end: int) -> Reference | None:
        """Return the last reference of code."""
        return next(iter(deque(self.decoder.references(self.binary.read(start, end - start), start), maxlen=1)), None)

    def _is_padding(self, start: int, end: int) -> bool:
        raw = self.binary.read(start, end - start)
        return self.decoder.padding(raw) == len(raw)

    def _is_sound(self, address: int) -> bool:
        piece = self.piece(self.entry(address))
        return piece is not None and piece.sound

    # ---- bytes in no function

    @cached_property
    def gaps(self) -> tuple[tuple[int, int], ...]:
        """Where bytes are that are in no function of known size, apart from padding: (first, after the last)."""
        found = []
        for number in range(len(self)):
            end, limit = self.functions.end(number), self.functions.limit(number)
            if end and end < limit and not self._is_padding(end, limit):
                found.append((self._end(number), limit))
        return tuple(found)

    def unreached(self, pieces: Iterable[int]) -> Iterator[tuple[int, bytes]]:
        """Yield the bytes in gaps and in none of the `pieces` that are not just padding: (address, bytes)."""
        known = sorted({block for piece in pieces for block in self.blocks(piece)})
        for start, end in self.gaps:
            inside = known[bisect_left(known, (start,)) : bisect_left(known, (end,))]
            for low, high in zip([start, *(b[1] for b in inside)], [*(b[0] for b in inside), end], strict=True):
                raw = self.binary.read(low, high - low) if low < high else b""
                code = raw[self.decoder.padding(raw) :]
                if code:
                    yield high - len(code), code

    # ---- what it is called, and where it is

    def start(self, number: int) -> int:
        """Return the first address of a function or piece."""
        return self._pieces[number - len(self)][0] if number >= len(self) else self.functions.starts[number]

    def symbol(self, number: int) -> Symbol | None:
        """Return the symbol of a function or piece, if it has one."""
        start = self.start(number)
        found = self.functions.starting_at(start)
        if found >= 0:
            return self.functions.symbol(found)
        label = self._labels.get(start)
        before = self.functions.at(start)
        if label is None and before >= 0 and start == self._end(before):
            return self.functions.symbol(before)  # which goes on there
        return label

    @cached_property
    def _labels(self) -> Mapping[int, Symbol]:
        """The first named label at each address."""
        labels = [one for one in self.binary.symbols() if one.kind == SymbolKind.LABEL and one.defined and one.named]
        return {one.address: one for one in reversed(labels)}

    def name(self, number: int) -> str:
        """Return a function's name, or where it is."""
        symbol = self.symbol(number)
        return self.binary.name(symbol) if symbol is not None else f"function at {self.start(number):#x}"

    def has_name(self, number: int) -> bool:
        """Return whether a function has a name."""
        return self.symbol(number) is not None

    def section(self, number: int) -> Section:
        """Return the section that a function is in."""
        return self.functions.section_of(self.start(number))

    def sized(self, number: int) -> bool:
        """Return whether the size is known, so that all bytes are instructions."""
        return number < len(self) and self.functions.end(number) != 0

    # ---- its instructions

    def blocks(self, number: int) -> tuple[tuple[int, int], ...]:
        """Return where a function's instructions are: (first address, the one after the last) of each block."""
        piece = self.piece(number)
        if piece is not None:
            return piece.blocks
        start, end = self.functions.extent(number)
        mark = self.decoder.mark
        if self.binary.read(start, len(mark)) == mark:
            start += self.decoder.mark_size
        return ((start, self._ends.get(number, end)),)

    def covers(self, number: int, address: int) -> bool:
        """Return whether an address is in a function."""
        return any(start <= address < end for start, end in self.blocks(number))

    def codes(self, number: int) -> Codes:
        """Return the codes of a function's instructions."""
        blocks = self.blocks(number)
        every = frozenset().union(*(self.decoder.codes(raw, start) for start, raw in self.raw(number)))
        if self.decoder.invalid in every and number < len(self):
            self._end(number)
            if self.blocks(number) != blocks:  # the symbol's size had cut off the last instruction
                return self.codes(number)
        return every

    def operand_addresses(self, number: int) -> set[int]:
        """Return the addresses that the instructions of a linked file's function name, and numbers that are none."""
        found = (self.decoder.references(raw, start, self.binary.fixed) for start, raw in self.raw(number))
        return {one.address for listed in found for one in listed}

    def raw(self, number: int) -> Iterator[tuple[int, bytes]]:
        """Yield the bytes of a function, block by block: (address, bytes)."""
        for start, end in self.blocks(number):
            yield start, self.binary.read(start, end - start)

    def decode(self, number: int) -> Iterator[Instruction]:
        """Yield a function's instructions."""
        for start, raw in self.raw(number):
            yield from self.decoder.decode(raw, start)

    def first(self, number: int, codes: Codes) -> tuple[int, str]:
        """Return the address and the text of a function's first instruction among `codes`."""
        for instruction in self.decode(number):
            if instruction.code in codes:
                if instruction.code == self.decoder.invalid:
                    return instruction.ip, "bytes that are no known instruction"
                return instruction.ip, self.decoder.text(instruction)
        return self.start(number), ""
