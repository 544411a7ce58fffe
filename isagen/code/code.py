"""The code of a binary as numbered functions and pieces. A piece is code outside functions of known size."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property

from ..binary.contents import Symbol, SymbolKind
from ..binary.reader import Binary
from ..processors.decoding import CALLS, LEAVES, Codes, Decoder, Instruction, Kind, Reference
from .flow import Flow, follow
from .functions import Functions
from .variables import Variables

# Each address at which control enters code of unknown size starts a piece, so pieces overlap. Once the pieces in one
# range of such code have OVERLAPS times the range's size plus MORE bytes, further entries there share an empty piece.
OVERLAPS, MORE = 8, 1 << 16


class Code:
    """The code of a binary.

    A piece is the code that control reaches from one address, its entry. The entry is in a function of unknown size, or
    after the end of a function. Numbers below `len` are those of functions. Pieces have the numbers from `len` on.
    """

    def __init__(self, binary: Binary, decoder: Decoder) -> None:
        self.binary = binary
        self.decoder = decoder.of_binary(binary)
        self.pointers = binary.pointers(decoder.abi.relocations)
        self.functions = Functions(binary)
        self.variables = Variables(binary)
        self._pieces: list[tuple[int, Flow]] = []
        self._piece_at: dict[int, int] = {}
        # By the start of a range of code of unknown size: its pieces' total size, and the number of its empty piece.
        self._followed: Counter[int] = Counter()
        self._empty_piece: dict[int, int] = {}
        self._ends: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self.functions)

    # ---- where control arrives

    def entry(self, address: int) -> int:
        """Return the number of the function or piece that control enters at an address; -1 if no code is there."""
        number = self.functions.at(address)
        if number < 0 or address < self.functions.end(number) or address < self._end(number):
            return number
        if address not in self._piece_at:
            low, high = self._end(number) or self.functions.starts[number], self.functions.limit(number)
            if self._followed[low] < OVERLAPS * (high - low) + MORE:
                flow = follow(self.decoder, self.binary.read, self.target, address, low, high)
                self._followed[low] += sum(end - start for start, end in flow.blocks)
            elif low in self._empty_piece:
                return self._empty_piece[low]
            else:
                flow = Flow((), 0, decodable=False)
                self._empty_piece[low] = len(self) + len(self._pieces)
            self._piece_at[address] = len(self) + len(self._pieces)
            self._pieces.append((address, flow))
        return self._piece_at[address]

    def body(self, number: int) -> int:
        """Return `number`, or for a function of unknown size the number of the piece at the function's start."""
        return number if self.sized(number) or self.piece(number) else self.entry(self.functions.starts[number])

    def piece(self, number: int) -> Flow | None:
        """Return the control flow of a piece; None for a function."""
        return self._pieces[number - len(self)][1] if number >= len(self) else None

    def target(self, reference: Reference) -> int:
        """Return the target of a direct jump; 0 if the target is only known after the link."""
        if self.binary.relocatable:
            section = self.functions.section_of(reference.at)
            if self.pointers.relocations(section, reference.at, reference.after):
                return 0
        return reference.address

    def _end(self, number: int) -> int:
        """Return the address after a function's last instruction; 0 if the function's size is unknown.

        Where a symbol's size ends in the middle of this instruction, the whole instruction belongs to the function.
        """
        start, end = self.functions.extent(number)
        if not self.functions.sizes[number] or end == self.functions.limit(number):
            return end if self.functions.sizes[number] else 0
        if number not in self._ends:
            self._ends[number] = end
            last = self._last(start, end)
            if last is not None and last.kind is Kind.INVALID and end - last.at < self.decoder.longest:
                raw = self.binary.read(last.at, self.decoder.longest)
                whole = next(iter(self.decoder.decode(raw, last.at)), None)
                if whole is not None and whole.code != self.decoder.invalid:
                    self._ends[number] = min(whole.next_ip, self.functions.limit(number))
        return self._ends[number]

    def falls_through_to(self, number: int, last: Reference | None = None) -> int:
        """Return the address to which control falls through after a function or piece; 0 if it does not.

        Control does not reach padding after the last jump or return, which some compilers include in a function's size.
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
            # If the call does not return, the bytes after it may be data: they count only if they can be decoded.
            piece = self.piece(self.entry(end)) if last.kind in CALLS and not only_padding else None
            return end if piece is not None and piece.decodable else 0
        return after if only_padding else end

    def _last(self, start: int, end: int) -> Reference | None:
        references = list(self.decoder.references(self.binary.read(start, end - start), start))
        return references[-1] if references else None

    def _is_padding(self, start: int, end: int) -> bool:
        raw = self.binary.read(start, end - start)
        return self.decoder.padding(raw) == len(raw)

    # ---- bytes in no function

    @cached_property
    def gaps(self) -> tuple[tuple[int, int], ...]:
        """The ranges (first address, address after the last) between a function of known size and what follows it.

        What follows is the next function, or the section's end. Ranges with nothing but padding are left out.
        """
        gaps = []
        for number in range(len(self)):
            end, limit = self.functions.end(number), self.functions.limit(number)
            if end and end < limit and not self._is_padding(end, limit):
                gaps.append((self._end(number), limit))
        return tuple(gaps)

    def unreached(self, pieces: Iterable[int]) -> Iterator[tuple[int, bytes]]:
        """Yield (address, bytes) of the ranges in gaps that none of the `pieces` covers, without leading padding."""
        reached = sorted({block for piece in pieces for block in self.blocks(piece)})
        for start, end in self.gaps:
            inside = reached[bisect_left(reached, (start,)) : bisect_left(reached, (end,))]
            for low, high in zip([start, *(b[1] for b in inside)], [*(b[0] for b in inside), end], strict=True):
                raw = self.binary.read(low, high - low) if low < high else b""
                code = raw[self.decoder.padding(raw) :]
                if code:
                    yield high - len(code), code

    # ---- names and places

    def start(self, number: int) -> int:
        """Return the first address of a function or piece."""
        return self._pieces[number - len(self)][0] if number >= len(self) else self.functions.starts[number]

    def symbol(self, number: int) -> Symbol | None:
        """Return the symbol of a function or piece, if it has one."""
        start = self.start(number)
        function = self.functions.starting_at(start)
        if function >= 0:
            return self.functions.symbol(function)
        label = self._labels.get(start)
        before = self.functions.at(start)
        if label is None and before >= 0 and start == self._end(before):
            return self.functions.symbol(before)  # the piece continues the function right before it
        return label

    @cached_property
    def _labels(self) -> Mapping[int, Symbol]:
        """The first named label at each address."""
        labels = [s for s in self.binary.symbols() if s.kind == SymbolKind.LABEL and s.defined and s.name]
        return {label.address: label for label in reversed(labels)}

    def name(self, number: int) -> str:
        """Return the name of a function or piece; "function at ADDRESS" if it has none."""
        symbol = self.symbol(number)
        return symbol.name if symbol is not None else f"function at {self.start(number):#x}"

    def sized(self, number: int) -> bool:
        """Return whether a function is of known size; false for a piece."""
        return number < len(self) and self.functions.end(number) != 0

    # ---- instructions

    def blocks(self, number: int) -> tuple[tuple[int, int], ...]:
        """Return (first address, address after the last) of each block of instructions of a function or piece."""
        piece = self.piece(number)
        if piece is not None:
            return piece.blocks
        start, end = self.functions.extent(number)
        mark = self.decoder.mark
        if self.binary.read(start, len(mark)) == mark:
            start += self.decoder.mark_size
        return ((start, self._ends.get(number, end)),)

    def covers(self, number: int, address: int) -> bool:
        """Return whether an address is in a block of a function or piece."""
        return any(start <= address < end for start, end in self.blocks(number))

    def codes(self, number: int) -> Codes:
        """Return the codes of the instructions of a function or piece."""
        blocks = self.blocks(number)
        codes = frozenset().union(*(self.decoder.codes(raw, start) for start, raw in self.raw(number)))
        if self.decoder.invalid in codes and number < len(self):
            self._end(number)
            if self.blocks(number) != blocks:  # they now contain the last instruction, which the symbol's size cut off
                return self.codes(number)
        return codes

    def operand_addresses(self, number: int) -> set[int]:
        """Return addresses, and numbers that may be addresses, in operands of a function or piece of a linked file."""
        blocks = (self.decoder.references(raw, start, self.binary.fixed) for start, raw in self.raw(number))
        return {reference.address for references in blocks for reference in references}

    def raw(self, number: int) -> Iterator[tuple[int, bytes]]:
        """Yield (address, bytes) of each block of a function or piece."""
        for start, end in self.blocks(number):
            yield start, self.binary.read(start, end - start)

    def decode(self, number: int) -> Iterator[Instruction]:
        """Yield the instructions of a function or piece."""
        for start, raw in self.raw(number):
            yield from self.decoder.decode(raw, start)

    def first(self, number: int, codes: Codes) -> tuple[int, str]:
        """Return address and text of the first instruction with one of the `codes`; without one, the start and ""."""
        for instruction in self.decode(number):
            if instruction.code in codes:
                if instruction.code == self.decoder.invalid:
                    return instruction.ip, "bytes that are no known instruction"
                return instruction.ip, self.decoder.text(instruction)
        return self.start(number), ""
