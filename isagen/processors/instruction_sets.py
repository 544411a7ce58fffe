"""The CPU features that instructions need, and what else an audit takes from a features file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .decoding import Codes, Decoder
    from .features import Features


@dataclass(frozen=True)
class Asked:
    """How code asks what the CPU has, in a way that symbols show.

    `functions` are functions of the toolchain that tell it, and the names of `variables` start so that hold it; names
    that start as one of `own` does are of C libraries, which use them themselves. `words`
    are such variables with the number of the first bit in each 32-bit word, negative where a word holds no features,
    and `bits` the feature of each bit, "" where it is unknown.
    """

    functions: frozenset[str] = frozenset()
    variables: tuple[str, ...] = ()
    own: tuple[str, ...] = ()
    bits: tuple[str, ...] = ()
    words: Mapping[str, tuple[int, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class Facts:
    """What an audit takes from a features file and a decoder; it can be kept, since both take long to read.

    `processor` is that of the features file, and `order` are its features. `always`, `checked`, `asked` and `implied`
    are those of `features.Features`. `needs` are the codes by the features that they need, few sets of thousands of
    codes, and `numbers` those of the decoder's own. `after` has the codes of which one makes a code harmless, `alike`
    the codes that older CPUs run as another instruction, with the macros under which compilers mean the new one.
    """

    processor: str
    order: tuple[str, ...]
    always: frozenset[str]
    checked: tuple[str, ...]
    needs: Mapping[frozenset[str], Codes]
    numbers: Mapping[str, tuple[int, ...]]
    after: Mapping[int, Codes]
    alike: Mapping[int, tuple[str, ...]]
    asked: Asked
    implied: Mapping[str, tuple[str, ...]]


def facts_of(features: Features, decoder: Decoder) -> Facts:
    """Return what an audit takes from a features file and a decoder."""
    codes: dict[frozenset[str], set[int]] = {}
    for code, needed in decoder.needs(features).items():
        codes.setdefault(needed, set()).add(code)
    rules = features.instructions
    after = {code: decoder.codes_of(before) for name, before in rules.after.items() for code in decoder.codes_of(name)}
    return Facts(
        processor=features.name,
        order=tuple(features.features),
        always=rules.always,
        checked=tuple(rules.checked),
        needs={needed: frozenset(found) for needed, found in codes.items()},
        numbers=decoder.numbers,
        after=after,
        alike={code: macros for name, macros in rules.alike.items() for code in decoder.codes_of(name)},
        asked=rules.asked,
        implied=features.implied,
    )


class InstructionSets:
    """The features that every instruction of a decoder needs, by their names in a features file.

    The `kept` facts stand for those of the features file.
    """

    def __init__(self, features: Features | None, decoder: Decoder, kept: Facts | None = None) -> None:
        self._features = features
        self._kept = kept
        self.decoder = decoder
        self._beyond: dict[frozenset[str], Codes] = {}

    @cached_property
    def facts(self) -> Facts:
        """What the features file and the decoder tell."""
        if self._kept is not None:
            return self._kept
        assert self._features is not None
        return facts_of(self._features, self.decoder)

    @cached_property
    def _by_normal_name(self) -> list[tuple[frozenset[str], Codes]]:
        """The codes by the normal names of the features that they need."""
        return [(frozenset(map(normal, needed)), codes) for needed, codes in self.facts.needs.items()]

    def beyond(self, allowed: Iterable[str]) -> Codes:
        """Return the codes that a CPU with the `allowed` features alone may not have."""
        names = frozenset(allowed)
        if names not in self._beyond:
            key = frozenset(map(normal, names))
            beyond = (codes for needed, codes in self._by_normal_name if not needed <= key)
            self._beyond[names] = frozenset().union(*beyond)
        return self._beyond[names]

    def unsound(self, codes: Codes, allowed: Iterable[str], asks: bool = False) -> Codes:
        """Return those of a function's `codes` that a CPU with the `allowed` features alone may not have.

        Those that older CPUs run as another instruction are left out, and those that another one of the function makes
        harmless; where the function `asks` what the CPU has, all that any makes harmless.
        """
        found = codes & self.beyond(allowed)
        if not found:
            return found
        after = self.facts.after
        left_out = {code for code in found if code in after and (asks or not after[code].isdisjoint(codes))}
        return found.difference(self.facts.alike, left_out)

    def missing(self, codes: Iterable[int], allowed: Iterable[str]) -> tuple[str, ...]:
        """Return the features that `codes` need besides the `allowed` ones, in the order of the features file."""
        known = frozenset(map(normal, allowed))
        needed = {name for code in codes for name in self._needs.get(code, ())}
        found = {name for name in needed if normal(name) not in known}
        order = self._order
        return tuple(sorted(found, key=lambda name: (order.get(name, len(order)), name)))

    def having(self, features: Iterable[str]) -> frozenset[str]:
        """Return the features of every CPU that has all of `features`."""
        found: set[str] = set()
        waiting = list(features)
        while waiting:
            name = waiting.pop()
            if name not in found:
                found.add(name)
                waiting += self.facts.implied.get(name, ())
        return frozenset(found)

    @cached_property
    def _needs(self) -> dict[int, frozenset[str]]:
        return {code: needed for needed, codes in self.facts.needs.items() for code in codes}

    @cached_property
    def _order(self) -> dict[str, int]:
        return {name: place for place, name in enumerate(self.facts.order)}


def normal(name: str) -> str:
    """Return a CPU feature's name as it is compared: ``AVX512F`` and ``avx512_f`` are one."""
    return name.lower().replace("_", "")
