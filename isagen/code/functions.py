"""The functions of a binary, numbered by address: where each starts and ends, and which symbol it has."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterator

from ..binary.protocol import CODE_KINDS, Binary, Binding, Section, Symbol, SymbolKind

# A function: its start, a number that is lower for a preferred symbol, its size, and its symbol's number + 1, or 0.
Place = tuple[int, int, int, int]
# A function of the unwinding tables that goes on in the next known one is new if it starts so many bytes before it.
APART = 16


class Functions:
    """The functions of a binary.

    Their places come from the symbols; in a stripped file, also from what it says for unwinding the stack.
    """

    def __init__(self, binary: Binary) -> None:
        self.binary = binary
        executable = {s.index: s for s in binary.sections if s.executable and self.is_code(s.address)}
        places: list[Place] = []
        for symbol in binary.symbols():
            # Some are beyond the last byte: `etext` and its like.
            if symbol.section not in executable or not self.is_code(symbol.address):
                continue
            local = symbol.binding == Binding.LOCAL
            if symbol.kind in CODE_KINDS or (symbol.kind == SymbolKind.LABEL and not local):
                places.append((symbol.address, int(local), symbol.size, symbol.number + 1))
        places += [(section.address, 3, 0, 0) for section in executable.values()]
        self._number(places)
        tails = list(self._tails())
        if tails:
            places += tails
            self._number(places)
        more = [(start, 2, size, 0) for start, size in binary.unwind_table_functions() if self._is_new(start, size)]
        if more:
            self._number(places + more)

    def _number(self, places: list[Place]) -> None:
        """Number functions by address; of those at one address, the preferred one counts."""
        places.sort()
        self.starts, self.sizes, self.numbers = array("Q"), array("Q"), array("I")
        for start, _, size, number in places:
            if not self.starts or self.starts[-1] != start:
                self.starts.append(start)
                self.sizes.append(size)
                self.numbers.append(number)
            elif not self.sizes[-1]:
                self.sizes[-1] = size

    def _tails(self) -> Iterator[Place]:
        """Yield, as `_number` takes them, the parts of functions that come after one nested in them."""
        reach, outer = 0, 0
        for number in range(len(self.starts) - 1):
            end = self.end(number)
            if end >= reach:
                reach, outer = end, number
            elif end and end < self.starts[number + 1]:
                section = self.binary.section_at(self.starts[outer])
                if section is not None and section is self.binary.section_at(end):
                    yield end, 1, reach - end, self.numbers[outer]

    def _is_new(self, address: int, size: int) -> bool:
        """Return whether no function of known size covers an address that is code.

        glibc's __restore_rt is said to start one byte earlier than it does (its sigaction.c says why): what starts just
        before a known function and goes on in it is that function.
        """
        number = self.at(address)
        if number < 0 or address < self.end(number):
            return False
        after = self.starts[number + 1] if number + 1 < len(self.starts) else address + size
        return after >= address + size or after - address >= APART

    def __len__(self) -> int:
        return len(self.starts)

    def is_code(self, address: int) -> bool:
        """Return whether code is at an address."""
        section = self.binary.section_at(address)
        return section is not None and section.executable

    def at(self, address: int) -> int:
        """Return the number of the function at an address, or of the one before; -1 if it is no code."""
        section = self.binary.section_at(address)
        return bisect_right(self.starts, address) - 1 if section is not None and section.executable else -1

    def starting_at(self, address: int) -> int:
        """Return the number of the function that starts at an address; -1 if none does."""
        number = self.at(address)
        return number if number >= 0 and self.starts[number] == address else -1

    def symbol(self, number: int) -> Symbol | None:
        """Return the symbol of a function, if it has one."""
        place = self.numbers[number]
        return self.binary.symbol(place - 1) if place else None

    def section_of(self, address: int) -> Section:
        """Return the section that the code at an address is in."""
        section = self.binary.section_at(address)
        assert section is not None
        return section

    def end(self, number: int) -> int:
        """Return the address after a function's last byte; 0 where its size is unknown."""
        return self.starts[number] + self.sizes[number] if self.sizes[number] else 0

    def limit(self, number: int) -> int:
        """Return where a function ends at the latest: where the next one starts, or the section ends."""
        section = self.binary.section_at(self.starts[number])
        assert section is not None
        limit = section.address + section.size
        return min(limit, self.starts[number + 1]) if number + 1 < len(self.starts) else limit

    def extent(self, number: int) -> tuple[int, int]:
        """Return a function's first address and the one after its last, up to the next function at most."""
        start, size, limit = self.starts[number], self.sizes[number], self.limit(number)
        return start, min(start + size, limit) if size else limit

    def bindable(self) -> Iterator[tuple[int, Symbol, str]]:
        """Yield what other files may bind to: (function's number, symbol, why)."""
        reasons = {Binding.WEAK: "weak", Binding.UNIQUE: "unique"}
        if not self.binary.relocatable:  # every function of another object is
            reasons[Binding.GLOBAL] = "exported"
        found: dict[int, tuple[int, Symbol, str]] = {}
        for symbol in self.binary.exports():
            if symbol.kind not in (SymbolKind.FUNCTION, SymbolKind.LABEL) or not symbol.defined:
                continue
            if not symbol.visible or symbol.binding not in reasons:
                continue
            number = self.starting_at(symbol.address)
            why = reasons[symbol.binding]
            if number >= 0:
                known = found.get(number)
                if known is None or (known[2] == "exported" and why != "exported"):
                    found[number] = (number, symbol, why)
        yield from found.values()
