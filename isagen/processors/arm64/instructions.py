"""The instructions of arm64 by their encodings, and the CPU features that they need, from `instructions.toml`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

from ...model.errors import AuditError
from ...model.toml import read_toml
from ..instructions import OR, Instructions, normal_name

INVALID = 0
REMEMBERED = 1 << 18  # words
LOW = 21  # rows are found by the bits of a word from this one up


class Kind(NamedTuple):
    """The instructions with one code: their mnemonic, the features that they need, and their widest vector register."""

    mnemonic: str
    needs: tuple[str, ...]
    width: int


class Encodings(dict[int, int]):
    """The code of each word; words are decoded on first use. A code is the number of a `Kind`.

    Only the last words are remembered: large files have millions of different branches.
    """

    def __init__(self) -> None:
        self.kinds = [Kind("", (), 0)]
        rows = []
        for group in read_toml(Path(__file__).with_name("instructions.toml"), AuditError).tables("groups"):
            needs = group.strings("needs")
            for line in group.string("words").splitlines():
                mnemonic, width, mask, *values = line.split()
                kind = Kind(mnemonic, needs, int(width))
                if kind != self.kinds[-1]:
                    self.kinds.append(kind)
                rows += [(int(mask, 16), int(value, 16), len(self.kinds) - 1) for value in values]
        self.rows: dict[int, list[tuple[int, int, int]]] = defaultdict(list)
        for row in sorted(rows, key=lambda row: -row[0].bit_count()):
            for high in _matching(row[0] >> LOW, row[1] >> LOW):
                self.rows[high].append(row)

    def __missing__(self, word: int) -> int:
        rows = self.rows.get(word >> LOW, ())
        code = next((code for mask, value, code in rows if word & mask == value), INVALID)
        if len(self) >= REMEMBERED:
            self.clear()
        self[word] = code
        return code


def _matching(mask: int, value: int) -> list[int]:
    """Return all numbers of 11 bits with the bits of `value` where the mask is set."""
    free = [1 << place for place in range(32 - LOW) if not mask >> place & 1]
    return [value | sum(bits) for count in range(len(free) + 1) for bits in combinations(free, count)]


@cache
def encodings() -> Encodings:
    """Return the encodings of arm64."""
    return Encodings()


def needs(rules: Instructions) -> Mapping[int, frozenset[str]]:
    """Return the features that each code needs, without codes that every CPU has or that are harmless without them.

    A feature has the form "a or b" where one of them is enough.
    """
    ours = {normal_name(name): name for name in rules.features}

    def name_of(feature: str) -> str:
        return OR.join(rules.names.get(one) or ours.get(normal_name(one), one) for one in feature.split(OR))

    result = {}
    for code, kind in enumerate(encodings().kinds):
        needed = frozenset(name_of(feature) for feature in kind.needs if feature not in rules.always)
        if needed and kind.mnemonic not in rules.harmless:
            result[code] = needed
    return result


def codes_of(mnemonic: str) -> frozenset[int]:
    """Return the codes of a mnemonic."""
    return frozenset(code for code, kind in enumerate(encodings().kinds) if kind.mnemonic == mnemonic)


def width(code: int) -> int:
    """Return the width in bits of the widest vector register of a code's instructions; 0 without one.

    A register without a fixed width counts as 128 bits, the least that it has.
    """
    return encodings().kinds[code].width
