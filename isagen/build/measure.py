"""Measuring compiled copies: sizes, instructions by the feature that they need, and a digest to compare copies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cache

from ..binary.formats import architecture_of
from ..binary.sealing_protocol import ObjectFile
from ..model.errors import AuditError
from ..model.matrix import Code
from ..processors.decoding import Decoder
from ..processors.features import Features
from ..processors.registry import decoder_of


class Measure:
    """Measures objects of one architecture. `features` returns the features whose instructions are counted."""

    def __init__(self, features: Callable[[], Features]) -> None:
        self._features = features
        self._needs: Mapping[int, frozenset[str]] = {}

    def code(self, file: ObjectFile, marks: Sequence[str]) -> Code:
        """Return the measures of an object's code, without counts if it cannot be decoded.

        The `marks` are prefixes of names that differ between levels.
        """
        parts = file.code()
        instructions, widest, by_feature = None, 0, dict[str, int]()
        with suppress(ImportError, AuditError):  # the decoder is not installed
            instructions, widest, by_feature = self._counts(decoder_of(architecture_of(file.path), ""), parts)
        return Code(file.loaded_bytes, sum(map(len, parts)), instructions, widest, by_feature, file.digest(marks))

    def _counts(self, decoder: Decoder, parts: Iterable[bytes]) -> tuple[int, int, dict[str, int]]:
        """Return the number of instructions, their widest register in bits, and the number that need each feature."""
        self._needs = self._needs or decoder.needs(self._features().instructions)
        counts = Counter(instruction.code for part in parts for instruction in decoder.decode(part, 0))
        by_feature: Counter[str] = Counter()
        for code, count in counts.items():
            for feature in self._needs.get(code, ()):
                by_feature[feature] += count
        widest = max((_width(decoder, code) for code in counts), default=0)
        return counts.total(), widest, dict(sorted(by_feature.items()))


@cache
def _width(decoder: Decoder, code: int) -> int:
    return decoder.width(code)
