"""Numbers the functions of a binary by address, and returns the start, end and symbol of each."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterator

from ..binary.contents import CODE_KINDS, Binding, Section, Symbol, SymbolKind
from ..binary.reader import Binary

# A candidate for a function: its start, its rank, its size (0 if unknown), and its symbol's number + 1 (0 for none). Of
# candidates with the same start, the one with the lowest rank is preferred.
Candidate = tuple[int, int, int, int]


class Functions:
    """The functions of a binary.

    They are found by symbols, by the starts of executable sections, and by the tables for unwinding the stack, which
    stripped files have too.
    """

    def __init__(self, binary: Binary) -> None:
        self.binary = binary
        self.starts, self.sizes, self.numbers = array("Q"), array("Q"), array("I")
        executable = {s.index: s for s in binary.sections if s.executable and binary.is_code(s.address)}
        named: list[Candidate] = []
        for symbol in binary.symbols():
            # Skipped, because no code is there: `etext`, for example, is after the last byte of its section.
            if symbol.section not in executable or not binary.is_code(symbol.address):
                continue
            local = symbol.binding == Binding.LOCAL
            if symbol.kind in CODE_KINDS or (symbol.kind == SymbolKind.LABEL and not local):
                named.append((symbol.address, int(local), symbol.size, symbol.number + 1))
        candidates: list[Candidate] = []
        self._number(candidates, [*named, *((section.address, 3, 0, 0) for section in executable.values())])
        self._number(candidates, list(self._tails()))
        unwound = ((start, size, self.at(start)) for start, size in binary.unwind_table_functions())
        nameless = [(start, 2, size, 0) for start, size, before in unwound if before >= 0 and start >= self.end(before)]
        self._number(candidates, nameless)

    def _number(self, candidates: list[Candidate], added: list[Candidate]) -> None:
        """Add the `added` candidates to `candidates`, and number all functions again."""
        if not added:
            return
        candidates += added
        candidates.sort()
        self.starts, self.sizes, self.numbers = array("Q"), array("Q"), array("I")
        for start, _, size, number in candidates:
            if not self.starts or self.starts[-1] != start:
                self.starts.append(start)
                self.sizes.append(size)
                self.numbers.append(number)
            elif not self.sizes[-1]:
                self.sizes[-1] = size

    def _tails(self) -> Iterator[Candidate]:
        """Yield the part of each function that comes after a function nested in it."""
        reach, outer = 0, 0
        for number in range(len(self.starts)):
            end = self.end(number)
            if end >= reach:
                reach, outer = end, number
            elif end and (number + 1 == len(self.starts) or end < self.starts[number + 1]):
                section = self.binary.section_at(self.starts[outer])
                if section is not None and section is self.binary.section_at(end):
                    yield end, 1, reach - end, self.numbers[outer]

    def __len__(self) -> int:
        return len(self.starts)

    def at(self, address: int) -> int:
        """Return the number of the last function that starts at or before an address; -1 if no code is there."""
        return bisect_right(self.starts, address) - 1 if self.binary.is_code(address) else -1

    def starting_at(self, address: int) -> int:
        """Return the number of the function that starts at an address; -1 if none does."""
        number = self.at(address)
        return number if number >= 0 and self.starts[number] == address else -1

    def symbol(self, number: int) -> Symbol | None:
        """Return the symbol of a function, if it has one."""
        symbol_number = self.numbers[number] - 1
        return self.binary.symbol(symbol_number) if symbol_number >= 0 else None

    def section_of(self, address: int) -> Section:
        """Return the section that the code at an address is in."""
        section = self.binary.section_at(address)
        assert section is not None
        return section

    def end(self, number: int) -> int:
        """Return the address after a function's last byte; 0 if its size is unknown."""
        return self.starts[number] + self.sizes[number] if self.sizes[number] else 0

    def limit(self, number: int) -> int:
        """Return the highest address at which a function may end: the start of the next one, or the section's end."""
        section = self.section_of(self.starts[number])
        limit = section.address + section.size
        return min(limit, self.starts[number + 1]) if number + 1 < len(self.starts) else limit

    def extent(self, number: int) -> tuple[int, int]:
        """Return a function's first address and the one after its last.

        If the size is unknown or reaches beyond `limit`, the function ends at `limit`.
        """
        limit = self.limit(number)
        return self.starts[number], min(self.end(number) or limit, limit)

    def bindable(self) -> Iterator[tuple[int, Symbol, str]]:
        """Yield (function's number, symbol, reason) of each function that other files may bind to.

        The reason is "weak", "unique" or "exported". A function with several symbols is yielded once.
        """
        reasons = {Binding.WEAK: "weak", Binding.UNIQUE: "unique"}
        if not self.binary.relocatable:  # not of an object, whose global functions are all for other objects
            reasons[Binding.GLOBAL] = "exported"
        functions: dict[int, tuple[int, Symbol, str]] = {}
        for symbol in self.binary.exports():
            if symbol.kind not in (SymbolKind.FUNCTION, SymbolKind.LABEL) or not symbol.defined:
                continue
            if not symbol.visible or symbol.binding not in reasons:
                continue
            number = self.starting_at(symbol.address)
            other = functions.get(number)
            if number >= 0 and (other is None or other[1].binding == Binding.GLOBAL != symbol.binding):
                functions[number] = (number, symbol, reasons[symbol.binding])
        yield from functions.values()
