"""One binary under audit: its code, the features that the code may use, and how findings describe the code."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain

from ..binary.contents import Symbol
from ..binary.reader import Binary
from ..code.code import Code
from ..code.references import References
from ..model.names import level_of_name
from ..model.record import matches
from ..processors.decoding import DIRECT, Codes
from ..processors.instruction_sets import InstructionSets
from .allowances import Allowances
from .build_objects import BuildObjects
from .findings import Finding
from .known_functions import CALLBACK_ARGUMENTS


@dataclass
class Subject:
    """One binary under audit.

    `baseline` are the features that all of its code may use, and `levels` the features of each level. If the binary is
    an object of one level, `level` is that level. `objects` are those that the binary was linked from, if they are
    available. If the binary is a level's private module, `module` is that level: its ordinary functions are from the
    level's objects. `counted` is that of `Result`.

    Parameters `number` are the numbers of functions and pieces in `code`.
    """

    binary: Binary
    sets: InstructionSets
    baseline: frozenset[str]
    allowances: Allowances
    levels: Mapping[str, Iterable[str]] = field(default_factory=dict)
    level: str = ""
    objects: BuildObjects | None = None
    module: str = ""
    counted: dict[str, list[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.code = Code(self.binary, self.sets.decoder)
        self.references = References(self.code, CALLBACK_ARGUMENTS, self.sets.rules.cpu_checks)

    def numbers(self) -> Iterator[int]:
        """Yield the numbers of all functions, and of the reachable pieces of code outside of functions."""
        return chain(range(len(self.code)), self.references.reached_pieces)

    def level_of(self, number: int) -> str:
        """Return the level of a function; "" if it has none."""
        return self.level_at(self.code.start(number))

    def level_at(self, address: int) -> str:
        """Return the level of the sealed code at an address; `level` for other code and for data."""
        return self.binary.level_at(address) or self.level

    def is_public(self, symbol: Symbol) -> bool:
        """Return whether sources that do not define the variable `symbol` may use its name.

        If objects are available, a name that is public in them counts too, since a linker may make its symbol local.
        """
        is_public = self.objects is not None and symbol.name in self.objects.public_names
        return (is_public or not symbol.local) and not self.is_sealed(symbol.name)

    def is_sealed(self, name: str) -> bool:
        """Return whether a name is private to one of the levels."""
        return level_of_name(name) in map(str.lower, self.levels)

    def allowed_at(self, level: str) -> frozenset[str]:
        """Return the features that code of a level may use; the baseline for "" and for unknown levels."""
        return self.baseline.union(self.levels.get(level, ()))

    @property
    def levels_are_lost(self) -> bool:
        """Whether the levels of functions are unknown, because the names of functions were stripped."""
        return bool(self.levels) and self.binary.stripped and self.binary.names_tell_levels

    @property
    def nameless_may_be_allowed(self) -> bool:
        """Whether a function without a name may belong to a level, or may be one that isa.toml allows."""
        return self.levels_are_lost or (self.binary.stripped and bool(self.allowances.entries))

    # ---- what code may not use

    def unsound(self, number: int, codes: Codes, allowed: Iterable[str]) -> Codes:
        """Return those of a function's `codes` that may fail on a CPU with only the `allowed` features."""
        unsound = self.sets.unsound(codes, allowed)
        if not unsound.isdisjoint(self.sets.after) and self._runs_after_detection(number):
            return self.sets.unsound(codes, allowed, asks=True)
        return unsound

    def _runs_after_detection(self, number: int) -> bool:
        if self.references.detects_or_calls_detection(number):
            return True
        # Without levels, callers are not searched: the search would take as long as the rest of the audit.
        callers = list(self._callers(self.code.start(number))) if self.levels else []
        return bool(callers) and all(map(self.references.detects_or_calls_detection, callers))

    def _callers(self, address: int) -> Iterator[int]:
        for number in self.numbers():
            may_call = self.binary.relocatable or address in self.code.operand_addresses(number)
            if may_call and any(
                reference.target == address and reference.kind in DIRECT for reference in self.references.of(number)
            ):
                yield number

    def is_checked(self, number: int) -> bool:
        """Return whether a function is the toolchain's, and either needs no check or runs only after one."""
        symbol = self.code.name(number)
        return any(matches(symbol, pattern) for pattern in self.sets.rules.checked)

    def is_undecodable(self, number: int, codes: Codes) -> bool:
        """Return whether a function contains bytes that the decoder does not know: data, or newer instructions.

        A function of unknown size is never undecodable, but its pieces may be.
        """
        piece = self.code.piece(number)
        if piece is not None:
            return not piece.decodable
        return self.sets.decoder.invalid in codes and self.code.sized(number)

    def count(self, number: int, features: Iterable[str]) -> None:
        """Count a function that is not judged, under each of the features that it needs."""
        for feature in features:
            self.counted.setdefault(feature, []).append(self.code.name(number))

    def count_rest(self, pieces: Iterable[int]) -> None:
        """Count bytes outside of functions and `pieces`, under each feature that they would need if they were code."""
        for address, raw in self.code.unreached(pieces):
            allowed = self.allowed_at(self.level_at(address))
            codes = self.sets.unsound(self.sets.decoder.codes(raw, address), allowed)
            for feature in self.sets.missing(codes, allowed):
                self.counted.setdefault(feature, []).append(f"code at {address:#x}")

    # ---- findings

    def finding_about(self, kind: str, symbol: str, detail: str, level: str) -> Finding:
        """Return a finding about the function or variable with the name `symbol`."""
        origin = self.objects.origin(symbol, level or self.module) if self.objects is not None else ()
        return Finding(kind, symbol, detail, level, *origin)

    def finding_in(self, kind: str, number: int, codes: Codes, allowed: Iterable[str], level: str) -> Finding:
        """Return a finding about a function that uses `codes`, with what these need beyond the `allowed` features."""
        address, text = self.code.first(number, codes)
        missing = self.sets.missing(codes, allowed)
        finding = self.finding_about(kind, self.code.name(number), "", level)
        return replace(finding, features=missing, instruction=text, address=address)
