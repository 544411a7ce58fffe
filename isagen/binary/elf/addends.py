"""The relocations of one section of an object, with 64-bit words and addends: what the section refers to, by place."""

from __future__ import annotations

import sys
from array import array
from bisect import bisect_left
from collections.abc import Collection, Mapping
from typing import Literal

WORDS = 3  # of a relocation: place, symbol and type, addend


class Addends:
    """Relocations, whose addends can be changed."""

    def __init__(self, raw: bytes, order: Literal["little", "big"]) -> None:
        self._swapped = order != sys.byteorder
        self._words = array("q", raw)
        if self._swapped:
            self._words.byteswap()
        self._numbers = {place: WORDS * number for number, place in enumerate(self._words[0::WORDS])}
        self._added: list[tuple[int, int, int]] = []
        self._replaced = False

    def replace(self, moved: Mapping[int, int], symbols: Collection[int]) -> None:
        """Give those of `symbols` whose addends are keys of `moved` the addends that it tells."""
        for number, addend in enumerate(self._words[2::WORDS]):
            if addend in moved and self._words[WORDS * number + 1] >> 32 in symbols:
                self._words[WORDS * number + 2] = moved[addend]
                self._replaced = True

    def target(self, place: int, symbols: Collection[int]) -> int | None:
        """Return the addend of the relocation at a place; None where none of `symbols` is what it refers to."""
        number = self._numbers.get(place)
        if number is None or self._words[number + 1] >> 32 not in symbols:
            return None
        return self._words[number + 2]

    def set(self, place: int, addend: int) -> None:
        """Change the addend of the relocation at a place."""
        self._words[self._numbers[place] + 2] = addend
        self._replaced = True

    def add(self, place: int, addend: int, symbols: Collection[int]) -> bool:
        """Add a relocation like another that refers to one of `symbols`; return whether there is such a one."""
        like = next((info for info in self._words[1::WORDS] if info >> 32 in symbols), None)
        if like is None or place in self._numbers:
            return False
        self._added.append((place, like, addend))
        return True

    @property
    def changed(self) -> bool:
        """Whether any relocation differs."""
        return self._replaced or bool(self._added)

    @property
    def content(self) -> bytes:
        """The relocations, in the order of their places, as assemblers write them."""
        words = self._words[:]
        places = words[0::WORDS]
        for place, info, addend in sorted(self._added, reverse=True):
            number = WORDS * bisect_left(places, place)
            words[number:number] = array("q", (place, info, addend))
        if self._swapped:
            words.byteswap()
        return words.tobytes()
