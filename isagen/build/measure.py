"""Measuring compiled copies: sizes, instructions by the feature that they need, and whether two are the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress

from ..binary.formats import architecture_of
from ..binary.sealing_protocol import ObjectFile
from ..model.errors import AuditError
from ..model.matrix import Code
from ..processors.decoding import Decoder
from ..processors.features import Features
from ..processors.registry import decoder_of

# By the decoder's number of an instruction's encoding: its widest register in bits, and the features that it needs.
Codes = dict[int, tuple[int, tuple[str, ...]]]


class Measure:
    """Measures objects of one architecture; the names of features are those that `features` returns.

    `codes` are cached from earlier runs; an encoding that is not among them loads all features.
    """

    def __init__(self, features: Callable[[], Features], codes: Codes | None = None) -> None:
        self._features = features
        self.codes: Codes = codes if codes is not None else {}
        self._decoder: Decoder | None = None
        self._needs: Mapping[int, frozenset[str]] = {}
        self._is_asked = False

    def code(self, file: ObjectFile, marks: Sequence[str]) -> Code:
        """Return the measures of an object's code; without counts if its code cannot be decoded.

        The `marks` are prefixes of names, which differ from level to level.
        """
        parts = file.code()
        instructions, widest, families = None, 0, dict[str, int]()
        with suppress(ImportError, AuditError):  # the decoder is not installed
            instructions, widest, families = self._counted(file, parts)
        return Code(file.loaded_bytes, sum(map(len, parts)), instructions, widest, families, file.digest(marks))

    def _counted(self, file: ObjectFile, parts: Iterable[bytes]) -> tuple[int | None, int, dict[str, int]]:
        """Return how many instructions there are, their widest register, and how many need each feature."""
        if not self._is_asked:
            self._is_asked = True
            self._decoder = decoder_of(architecture_of(file.path), "")
        if self._decoder is None:
            return None, 0, {}
        decode = self._decoder.decode
        counts = Counter(one.code for part in parts for one in decode(part, 0))
        if not self.codes.keys() >= counts.keys():
            self._learn(self._decoder, counts)
        families: Counter[str] = Counter()
        for code, count in counts.items():
            for feature in self.codes[code][1]:
                families[feature] += count
        widest = max((self.codes[code][0] for code in counts), default=0)
        return counts.total(), widest, dict(sorted(families.items()))

    def _learn(self, decoder: Decoder, codes: Iterable[int]) -> None:
        if not self._needs:
            self._needs = decoder.needs(self._features().instructions)
        for code in codes:
            self.codes[code] = decoder.width(code), tuple(sorted(self._needs.get(code, ())))
