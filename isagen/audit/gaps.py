"""Code, or data among it, that is in no function of known size."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import chain

from ..binary.spans import within
from ..processors.decoding import DIRECT
from .references import References


class Gaps:
    """The bytes between functions of known size, apart from padding."""

    def __init__(self, references: References) -> None:
        self._references = references
        self._code = references.code

    @cached_property
    def _spans(self) -> list[tuple[int, int]]:
        """Where the gaps are: (first address, address after the last)."""
        found = []
        functions, padding = self._code.functions, self._code.decoder.padding
        for number in range(len(functions)):
            end = functions.end(number)
            if end and end < (limit := functions.limit(number)):
                raw = self._code.binary.read(end, limit - end)
                if padding(raw) < len(raw):
                    found.append((end, limit))
        return found

    @cached_property
    def pieces(self) -> tuple[int, ...]:
        """The pieces of code in gaps that functions, or other such pieces, lead to."""
        return tuple(self._find())

    def _find(self) -> Iterator[int]:
        """Yield the numbers of the pieces.

        Functions call them, jump to them, or take their address; that may also be the address of data.
        """
        if not self._spans:
            return
        code, references = self._code, self._references
        pieces: list[int] = []  # looked through as well, as they are found
        seen: set[int] = set()
        for number in chain(range(len(code)), pieces):  # upwards, as the file is read
            if not code.binary.relocatable and not any(within(self._spans, one) for one in code.named_by(number)):
                continue
            for instruction in code.decode(number):
                direct = instruction.flow_control in DIRECT
                target = references.called(instruction)[0] if direct else references.pointed(instruction)
                if not target or not within(self._spans, target) or code.covers(number, target):
                    continue
                found = code.entry(target)
                piece = code.piece(found)
                if found in seen or piece is None:
                    continue
                if direct or (piece.sound and not code.variables.name_at(target)):
                    seen.add(found)
                    pieces.append(found)
                    yield found

    def rest(self, pieces: Iterable[int] = ()) -> Iterator[tuple[int, bytes]]:
        """Yield the bytes in gaps, and in none of the `pieces`, that are not just padding: (address, bytes)."""
        known = sorted(block for piece in pieces for block in self._code.blocks(piece))
        for start, end in self._spans:
            inside = [block for block in known if start <= block[0] < end] if known else []
            for low, high in zip([start, *(b[1] for b in inside)], [*(b[0] for b in inside), end], strict=True):
                raw = self._code.binary.read(low, high - low) if low < high else b""
                code = raw[self._code.decoder.padding(raw) :]
                if code:
                    yield high - len(code), code
