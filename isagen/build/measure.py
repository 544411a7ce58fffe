"""Measuring compiled copies: sizes, instructions by the feature that they need, and whether two are the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from operator import attrgetter

from ..binary.formats import architecture_of
from ..binary.protocol import ObjectFile
from ..model.errors import AuditError
from ..model.matrix import Code, KernelCode, LevelCode
from ..model.names import KERNEL_SYMBOL
from ..model.registrations import Registrations
from ..processors.decoding import Decoder
from ..processors.features import Features
from ..processors.registry import decoder_of

CODE = attrgetter("code")


def level_code(
    project: str,
    registered: Registrations,
    objects: Mapping[str, ObjectFile],
    lower: Mapping[str, LevelCode],
    measure: Measure,
) -> LevelCode:
    """Return what the objects of one level hold, by their kernel source; what is folded has the code of `lower`."""
    mark = KERNEL_SYMBOL.format(level=registered.level)
    kernels = {}
    for source, file in objects.items():
        folded = registered.folded.get(source, "")
        code = lower[folded].kernels[source].code if folded else measure.code(file, mark)
        kernels[source] = KernelCode(registered.kernels[source].registers, code, folded)
    return LevelCode(project, registered.level, kernels)


class Measure:
    """Measures objects of one architecture; the names of features are those of `features`."""

    def __init__(self, features: Features) -> None:
        self._features = features
        self._decoder: Decoder | None = None
        self._widths: dict[int, int] = {}  # in bits, by code: copies have most codes in common

    def code(self, file: ObjectFile, mark: str) -> Code:
        """Return what the code of an object is made of, without counts where nothing decodes it.

        Symbols whose names start with `mark` register functions for stubs.
        """
        parts = file.code()
        decoder = self._decoder_for(file)
        instructions, widest, families = self._instructions(decoder, parts) if decoder is not None else (None, 0, {})
        return Code(
            loaded_bytes=file.loaded_bytes,
            code_bytes=sum(map(len, parts)),
            instructions=instructions,
            widest=widest,
            families=families,
            digest=file.digest(mark),
        )

    def _instructions(self, decoder: Decoder, parts: Sequence[bytes]) -> tuple[int, int, dict[str, int]]:
        """Return how many instructions there are, their widest register, and how many need each feature."""
        counts: Counter[int] = Counter()
        for raw in parts:
            counts.update(map(CODE, decoder.decode(raw, 0)))
        families: Counter[str] = Counter()
        for code, count in counts.items():
            for feature in self._needs.get(code, ()):
                families[feature] += count
        for code in counts.keys() - self._widths.keys():
            self._widths[code] = decoder.width(code)
        widest = max((self._widths[code] for code in counts), default=0)
        return counts.total(), widest, dict(sorted(families.items()))

    def _decoder_for(self, file: ObjectFile) -> Decoder | None:
        if self._decoder is None:
            with suppress(AuditError):
                self._decoder = decoder_of(architecture_of(file.path), "")
        return self._decoder

    @cached_property
    def _needs(self) -> Mapping[int, frozenset[str]]:
        return self._decoder.needs(self._features) if self._decoder is not None else {}
