"""Looks up instructions and the CPU features that they need by their encodings, from `instructions.toml`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

from ..model.errors import AuditError
from ..model.toml import read_toml
from .instructions import OR, Instructions, normal_name

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

    def needs(self, rules: Instructions) -> Mapping[int, frozenset[str]]:
        """Return the features that each code needs, without codes that are harmless on every CPU.

        The name "a or b" means that the CPU needs one of the two features.
        """
        ours = {normal_name(name): name for name in rules.features}

        def name_of(feature: str) -> str:
            names = (rules.names.get(one) or ours.get(normal_name(one), one) for one in feature.split(OR))
            return OR.join(dict.fromkeys(names))

        result = {}
        for code, form in enumerate(self.forms):
            needed = frozenset(name_of(one) for one in form.needs if rules.always.isdisjoint(one.split(OR)))
            if needed and form.mnemonic not in rules.harmless:
                result[code] = needed
        return result

    def codes_of(self, mnemonic: str) -> frozenset[int]:
        """Return the codes of a mnemonic."""
        return frozenset(code for code, form in enumerate(self.forms) if form.mnemonic == mnemonic)

    def width(self, code: int) -> int:
        """Return the width in bits of the widest vector register of a code's instructions; 0 if they have none.

        A register whose width depends on the CPU counts as 128 bits, the smallest width.
        """
        return self.forms[code].width


def _matching(key: int, mask: int, value: int) -> list[int]:
    """Return all numbers within the bits of `key` that equal `value` in the bits of `mask`."""
    free = [1 << place for place in range(key.bit_length()) if key & ~mask & 1 << place]
    return [value & key | sum(bits) for count in range(len(free) + 1) for bits in combinations(free, count)]
