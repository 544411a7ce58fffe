"""The functions that isa.toml allows by name, and which entries covered any."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ..binary.private_names import name_in_source
from ..code.demangle import demangle
from ..model.record import Allowance, matches


def names_of(symbol: str) -> frozenset[str]:
    """Return the names by which a function can be allowed: the linker's, and as C++ writes it."""
    compiled = name_in_source(symbol)  # without what the seal adds
    names = (symbol, compiled, compiled.partition(".")[0])  # without what compilers append to parts and copies
    return frozenset((*names, *map(demangle, names)))


@dataclass
class Allowances:
    """The entries of isa.toml, and which functions they were used for."""

    entries: Sequence[Allowance] = ()
    used: dict[str, set[str]] = field(default_factory=dict)

    def cover(self, symbol: str) -> bool:
        """Return whether an entry allows the function, and remember that it was used."""
        names = names_of(symbol)
        for entry in self.entries:
            if any(matches(name, entry.symbol) for name in names):
                self.used.setdefault(entry.symbol, set()).add(symbol)
                return True
        return False

    def allowed(self) -> tuple[tuple[str, str, int], ...]:
        """Return (pattern, reason, number of functions) of the entries that were used."""
        return tuple((x.symbol, x.reason, len(self.used[x.symbol])) for x in self.entries if x.symbol in self.used)

    def unused(self) -> tuple[tuple[str, str], ...]:
        """Return (pattern, reason) of the entries that allowed nothing."""
        return tuple((x.symbol, x.reason) for x in self.entries if x.symbol not in self.used)
