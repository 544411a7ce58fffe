"""Looks up instructions and the CPU features that they need by their encodings, from `instructions.toml`."""

from __future__ import annotations

from collections import defaultdict
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

from ..model.errors import AuditError
from ..model.toml import read_toml

INVALID = 0
NO_WORD = -1  # in place of a word: the bytes are not a whole instruction
CACHED = 1 << 18  # words at most


class Form(NamedTuple):
    """The instructions with one code: their mnemonic, the features that they need, and their widest vector register."""

    mnemonic: str
    needs: tuple[str, ...]
    width: int


class Encodings(dict[int, int]):
    """The code of each word; words are decoded on first use. A code is the number of a `Form`.

    Rows are indexed by the bits of a word in the mask `key`. The cache has a limited size, because a large file has
    millions of different branches.
    """

    def __init__(self, folder: Path, key: int) -> None:
        self.forms = [Form("", (), 0)]
        self._key = key
        rows = []
        for group in read_toml(folder / "instructions.toml", AuditError).tables("groups"):
            needs = group.strings("needs")
            for line in group.string("words").splitlines():
                mnemonic, width, mask, *values = line.split()
                form = Form(mnemonic, needs, int(width))
                if form != self.forms[-1]:
                    self.forms.append(form)
                rows += [(int(mask, 16), int(value, 16), len(self.forms) - 1) for value in values]
        self.rows: dict[int, list[tuple[int, int, int]]] = defaultdict(list)
        for row in sorted(rows, key=lambda row: -row[0].bit_count()):
            for index in _matching(key, row[0], row[1]):
                self.rows[index].append(row)

    def __missing__(self, word: int) -> int:
        rows = self.rows.get(word & self._key, ()) if word != NO_WORD else ()
        code = next((code for mask, value, code in rows if word & mask == value), INVALID)
        if len(self) >= CACHED:
            self.clear()
        self[word] = code
        return code


def _matching(key: int, mask: int, value: int) -> list[int]:
    """Return all numbers within the bits of `key` that equal `value` in the bits of `mask`."""
    free = [1 << place for place in range(key.bit_length()) if key & ~mask & 1 << place]
    return [value & key | sum(bits) for count in range(len(free) + 1) for bits in combinations(free, count)]
