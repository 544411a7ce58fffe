"""Code, or data among it, that is in no function of known size."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import chain

from ..binary.pointing import within
from ..processors.decoding import DIRECT
from .references import References


class Gaps:
    """The bytes between functions of known size, apart from padding."""

    def __init__(self, references: References) -> None:
        self._references = references
        self._code = references.code

    @cached_property
    def pieces(self) -> tuple[int, ...]:
        """The pieces of code in gaps that functions, or other such pieces, lead to."""
        return tuple(self._find())

    def _find(self) -> Iterator[int]:
        """Yield the numbers of the pieces.

        Functions call them, jump to them, or take their address; that may also be the address of data. Or pointers in
        data lead to them.
        """
        gaps = self._code.gaps
        if not gaps:
            return
        code, references = self._code, self._references
        pieces: list[int] = []  # looked through as well, as they are found
        for target in dict.fromkeys(references.stored.values()):
            if within(gaps, target) and (found := self._piece(target, direct=False)) >= 0 and found not in pieces:
                pieces.append(found)
                yield found
        seen = set(pieces)
        for number in chain(range(len(code)), pieces):  # upwards, as the file is read
            if not code.binary.relocatable and not any(within(gaps, one) for one in code.named_by(number)):
                continue
            for instruction in code.decode(number):
                direct = instruction.flow_control in DIRECT
                target = references.called(instruction)[0] if direct else references.pointed(instruction)
                if not target or not within(gaps, target) or code.covers(number, target):
                    continue
                found = self._piece(target, direct)
                if found >= 0 and found not in seen:
                    seen.add(found)
                    pieces.append(found)
                    yield found

    def _piece(self, target: int, direct: bool) -> int:
        """Return the piece at an address in a gap; -1 where it may be data, unless control comes there `direct`."""
        code = self._code
        if within(code.tails, target):
            return -1  # of the function that goes on there
        found = code.entry(target)
        piece = code.piece(found)
        if piece is None or not (direct or (piece.sound and not code.variables.name_at(target))):
            return -1
        return found

    def rest(self, pieces: Iterable[int] = ()) -> Iterator[tuple[int, bytes]]:
        """Yield the bytes in gaps, and in none of the `pieces`, that are not just padding: (address, bytes)."""
        known = sorted({*(block for piece in pieces for block in self._code.blocks(piece)), *self._code.tails})
        for start, end in self._code.gaps:
            inside = [block for block in known if start <= block[0] < end] if known else []
            for low, high in zip([start, *(b[1] for b in inside)], [*(b[0] for b in inside), end], strict=True):
                raw = self._code.binary.read(low, high - low) if low < high else b""
                code = raw[self._code.decoder.padding(raw) :]
                if code:
                    yield high - len(code), code
