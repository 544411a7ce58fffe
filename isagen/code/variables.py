"""Finds the variables of a binary by address, from its symbols."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from functools import cached_property

from ..binary.contents import DATA_KINDS, Symbol
from ..binary.reader import Binary

LARGEST_UNSIZED = 128  # the most bytes of a variable of unknown size


class Variables:
    """The variables that a binary's symbols name."""

    def __init__(self, binary: Binary) -> None:
        self._binary = binary

    @cached_property
    def _sorted(self) -> tuple[array[int], array[int], array[int]]:
        """The addresses of variables, in order, and the size and the symbol's number of each."""
        variables = sorted(
            (symbol.address, symbol.size, symbol.number)
            for symbol in self._binary.symbols()
            if symbol.kind in DATA_KINDS and symbol.defined
        )
        addresses, sizes, numbers = zip(*variables, strict=True) if variables else ((), (), ())
        return array("Q", addresses), array("Q", sizes), array("I", numbers)

    def name_at(self, address: int) -> str:
        """Return the name of the variable at an address; "" if no symbol names one."""
        symbol = self.symbol_at(address)
        return symbol.name if symbol is not None else ""

    def symbol_at(self, address: int) -> Symbol | None:
        """Return the symbol of the variable at an address; None if no symbol names one."""
        addresses, sizes, numbers = self._sorted
        index = bisect_right(addresses, address) - 1
        if index < 0 or address >= addresses[index] + max(sizes[index], 1):
            return None
        return self._binary.symbol(numbers[index])

    def extent(self, address: int) -> tuple[int, int]:
        """Return the first address of the variable at an address, and the address after its last byte.

        A variable without a symbol or of unknown size starts at `address`. It ends at the next variable or at the
        section's end, and has at most LARGEST_UNSIZED bytes.
        """
        symbol = self.symbol_at(address)
        if symbol is not None and symbol.size:
            return symbol.address, symbol.address + symbol.size
        section = self._binary.section_at(address)
        if section is None:
            return address, address
        addresses, _, _ = self._sorted
        following = bisect_right(addresses, address)
        end = min(section.address + section.size, address + LARGEST_UNSIZED)
        return address, min(end, addresses[following]) if following < len(addresses) else end
