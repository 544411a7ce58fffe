"""One binary under audit: its code, the features that are allowed in it, and the description of findings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain

from ..binary.protocol import Binary, Symbol
from ..code.code import Code
from ..code.references import References
from ..model.names import is_sealed_name
from ..model.record import matches
from ..processors.decoding import DIRECT, Codes
from ..processors.instruction_sets import InstructionSets
from .allowances import Allowances
from .findings import Finding
from .known_functions import RUNS

# Returns the object and the kernel of a function, by symbol and level; empty strings if unknown.
Origin = Callable[[str, str], tuple[str, str]]


@dataclass
class Subject:
    """One binary under audit.

    `baseline` are the features that any of its code may use, `levels` those of each level; `level` is that of a whole
    object. `known` are names that objects refer to each other by, where the objects are at hand: linkers may make them
    local. `counted` are the names of functions that are not judged, by the feature that they need, or UNDECODABLE.
    """

    binary: Binary
    sets: InstructionSets
    baseline: frozenset[str]
    allowances: Allowances
    origin: Origin = lambda symbol, level: ("", "")
    levels: Mapping[str, Iterable[str]] = field(default_factory=dict)
    level: str = ""
    known: frozenset[str] = frozenset()
    counted: dict[str, list[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.code = Code(self.binary, self.sets.decoder)
        self.references = References(self.code, RUNS, self.sets.rules.cpu_checks)

    def numbers(self) -> Iterator[int]:
        """Yield the numbers of all functions, and of pieces in none that code leads to."""
        return chain(range(len(self.code)), self.references.pieces)

    def level_of(self, number: int) -> str:
        """Return the level of a function."""
        return self.level_at(self.code.start(number))

    def level_at(self, address: int) -> str:
        """Return the level of the code at an address; that of the whole object where it is of no sealed level."""
        return self.binary.level_at(address) or self.level

    def is_known(self, symbol: Symbol) -> bool:
        """Return whether other sources than the one that defines a variable may know its name."""
        name = self.binary.name(symbol)
        return not (symbol.local and name not in self.known) and not self.is_sealed(name)

    def is_sealed(self, name: str) -> bool:
        """Return whether a name is private to one of the levels."""
        return any(is_sealed_name(name, level) for level in self.levels)

    def allowed_at(self, level: str) -> frozenset[str]:
        """Return the features that code of a level, or of none, may use."""
        return self.baseline.union(self.levels[level]) if level in self.levels else self.baseline

    @cached_property
    def nameless_allowed(self) -> bool:
        """Whether functions may have lost the names by which they would be allowed."""
        return bool(self.allowances.entries) and self.binary.stripped

    # ---- what code may not use

    def unsound(self, number: int, codes: Codes, allowed: Iterable[str]) -> Codes:
        """Return those of a function's `codes` that a CPU with the `allowed` features alone may not have."""
        found = self.sets.unsound(codes, allowed)
        if found and not found.isdisjoint(self.sets.after) and self._is_asked(number):
            return self.sets.unsound(codes, allowed, asks=True)
        return found

    def _is_asked(self, number: int) -> bool:
        """Return whether a function detects the CPU's features, or all of its callers do before the call."""
        if self.references.detects_features_first(number):
            return True
        # In files of others this would take as long as all else.
        callers = list(self._callers(self.code.start(number))) if self.levels else []
        return bool(callers) and all(map(self.references.detects_features_first, callers))

    def _callers(self, address: int) -> Iterator[int]:
        """Yield the functions that call an address."""
        for number in self.numbers():
            named = self.binary.relocatable or address in self.code.operand_addresses(number)
            if named and any(one.target == address and one.kind in DIRECT for one in self.references.of(number)):
                yield number

    def is_checked(self, number: int) -> bool:
        """Return whether a function is the toolchain's, and runs only behind its own check."""
        symbol = self.code.name(number)
        return any(matches(symbol, pattern) for pattern in self.sets.rules.checked)

    def is_undecodable(self, number: int, codes: Codes) -> bool:
        """Return whether a function contains bytes that the decoder does not know: data, or newer instructions."""
        piece = self.code.piece(number)
        if piece is not None:
            return not piece.decodable
        return self.sets.decoder.invalid in codes and self.code.sized(number)

    def count(self, number: int, features: Iterable[str]) -> None:
        """Count a function that is not judged by each of the features that it needs."""
        for feature in features:
            self.counted.setdefault(feature, []).append(self.code.name(number))

    def count_rest(self, pieces: Iterable[int]) -> None:
        """Count code in no function, and in none of the `pieces`, by what it would need if it were code."""
        for address, raw in self.code.unreached(pieces):
            allowed = self.allowed_at(self.level_at(address))
            codes = self.sets.unsound(self.sets.decoder.codes(raw, address), allowed)
            for feature in self.sets.missing(codes, allowed):
                self.counted.setdefault(feature, []).append(f"code at {address:#x}")

    # ---- findings

    def fault(self, kind: str, symbol: str, detail: str, level: str) -> Finding:
        """Describe a fault of a function or variable by its symbol."""
        return Finding(kind, symbol, detail, level, *self.origin(symbol, level))

    def finding(self, kind: str, number: int, codes: Codes, allowed: Iterable[str], level: str) -> Finding:
        """Describe a function that uses `codes`, none of which is `allowed`."""
        address, text = self.code.first(number, codes)
        missing = self.sets.missing(codes, allowed)
        fault = self.fault(kind, self.code.name(number), "", level)
        cause = "feature" if kind == "level" and not self._detectable.issuperset(missing) else ""
        return replace(fault, features=missing, instruction=text, address=address, cause=cause)

    @cached_property
    def _detectable(self) -> frozenset[str]:
        """The features that isagen can detect: of the features file, and of the tables of the file's levels."""
        return frozenset(chain(self.sets.rules.features, *self.levels.values()))
