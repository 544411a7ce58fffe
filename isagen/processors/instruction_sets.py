"""Finds the instructions that need other CPU features than those that are allowed."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from .decoding import Codes, Decoder
from .features import Features, read_features
from .instructions import have, normal_name


class InstructionSets:
    """The features that each code of a decoder needs, by their names in a features file.

    `after` maps a code to the codes that make it harmless in the same function.
    """

    def __init__(self, features: Features, decoder: Decoder) -> None:
        self.decoder = decoder
        self.rules = features.instructions
        self.having = features.having
        self._needs = decoder.needs(self.rules)
        self._beyond: dict[frozenset[str], Codes] = {}
        codes_of = decoder.codes_of
        self.after = {code: codes_of(other) for name, other in self.rules.after.items() for code in codes_of(name)}

    def beyond(self, allowed: Iterable[str]) -> Codes:
        """Return the codes that need features beyond the `allowed` ones."""
        names = frozenset(map(normal_name, allowed))
        if names not in self._beyond:
            beyond = {needed for needed in set(self._needs.values()) if not have(names, needed)}
            self._beyond[names] = frozenset(code for code, needed in self._needs.items() if needed in beyond)
        return self._beyond[names]

    def unsound(self, codes: Codes, allowed: Iterable[str], asks: bool = False) -> Codes:
        """Return the codes of a function that may fail on a CPU with only the `allowed` features.

        Codes that another code of the function makes harmless are not returned. If `asks` is true, because the
        function or its callers detect CPU features, no code in `after` is returned.
        """
        beyond = codes & self.beyond(allowed)
        if not beyond:
            return beyond
        harmless = {code for code in beyond & self.after.keys() if asks or not self.after[code].isdisjoint(codes)}
        return beyond - harmless

    def missing(self, codes: Iterable[int], allowed: Iterable[str]) -> tuple[str, ...]:
        """Return the features that `codes` need beyond the `allowed` ones, in the order of the features file."""
        names = frozenset(map(normal_name, allowed))
        every = {name for code in codes for name in self._needs.get(code, ())}
        needed = {name for name in every if not have(names, [name])}
        known = [name for name in self.rules.features if name in needed]
        return (*known, *sorted(needed.difference(known)))


@cache
def instruction_sets(features: str, decoder: Decoder) -> InstructionSets:
    """Return the instruction sets of a features file and a decoder. The cache serves all files of an audit."""
    return InstructionSets(read_features(features), decoder)
