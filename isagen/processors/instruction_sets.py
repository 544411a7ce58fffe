"""The CPU features that instructions need, by a features file."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from .closure import closure
from .decoding import Codes, Decoder
from .features import Features, read_features
from .instructions import normal


class InstructionSets:
    """The features that every instruction of a decoder needs, by their names in a features file.

    `after` maps codes to those that make them harmless, and `alike` codes that older CPUs run as another instruction
    to the macros under which compilers mean the new one.
    """

    def __init__(self, features: Features, decoder: Decoder) -> None:
        self.decoder = decoder
        self.rules = features.instructions
        self._implied = features.implied
        self._order = {name: place for place, name in enumerate(self.rules.features)}
        self._needs = decoder.needs(self.rules)
        self._normal = {needed: frozenset(map(normal, needed)) for needed in set(self._needs.values())}
        self._beyond: dict[frozenset[str], Codes] = {}
        codes_of = decoder.codes_of
        self.after = {code: codes_of(one) for name, one in self.rules.after.items() for code in codes_of(name)}
        self.alike = {code: macros for name, macros in self.rules.alike.items() for code in codes_of(name)}

    def beyond(self, allowed: Iterable[str]) -> Codes:
        """Return the codes that need features beyond the `allowed` ones."""
        known = frozenset(map(normal, allowed))
        if known not in self._beyond:
            beyond = {needed for needed, names in self._normal.items() if not names <= known}
            self._beyond[known] = frozenset(code for code, needed in self._needs.items() if needed in beyond)
        return self._beyond[known]

    def unsound(self, codes: Codes, allowed: Iterable[str], asks: bool = False) -> Codes:
        """Return those of a function's `codes` that a CPU with the `allowed` features alone may not have.

        Those that older CPUs run as another instruction are left out, and those that another one of the function makes
        harmless; where the function `asks` what the CPU has, all that any makes harmless.
        """
        found = codes & self.beyond(allowed)
        if not found:
            return found
        left_out = {code for code in found & self.after.keys() if asks or not self.after[code].isdisjoint(codes)}
        return found.difference(self.alike, left_out)

    def missing(self, codes: Iterable[int], allowed: Iterable[str]) -> tuple[str, ...]:
        """Return the features that `codes` need besides the `allowed` ones, in the order of the features file."""
        known = frozenset(map(normal, allowed))
        needed = {name for code in codes for name in self._needs.get(code, ())}
        found = {name for name in needed if normal(name) not in known}
        order = self._order
        return tuple(sorted(found, key=lambda name: (order.get(name, len(order)), name)))

    def having(self, features: Iterable[str]) -> frozenset[str]:
        """Return the features of every CPU that has all of `features`."""
        return closure(features, lambda name: self._implied.get(name, ()))


@cache
def instruction_sets(features: str, decoder: Decoder) -> InstructionSets:
    """Return the features that instructions need by a features file; most files of an audit are for one processor."""
    return InstructionSets(read_features(features), decoder)
