"""The hot loop of a copy: its innermost loop that makes most use of what its level adds."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ..binary.formats import open_binary
from ..code.code import Code
from ..code.demangle import demangle
from ..model.matrix import Matrix, MatrixLevel
from ..processors.decoding import Instruction, Kind
from ..processors.features import normal, read_features
from ..processors.instruction_sets import InstructionSets
from ..processors.registry import decoder_of, find_processor, is_decoded

# Longer loops are not shown: no page has room for them.
LONGEST = 400
# A loop of fewer instructions counts as one of so many: the remainder's loops are short, whatever they use.
SHORTEST = 8
ZEROS = re.compile(r"\b0x0+(?=[0-9a-fA-F])")


@dataclass(frozen=True)
class LoopInstruction:
    """One instruction: its offset from its function's start, its text, and the features that it needs."""

    offset: int
    text: str
    features: tuple[str, ...]


@dataclass(frozen=True)
class Loop:
    """A loop of a function, in the order of addresses. Features are those beyond the baseline."""

    function: str
    instructions: tuple[LoopInstruction, ...]


@dataclass(frozen=True)
class _Place:
    """Where a loop is: the function's number, and the loop's first address and the one after its last."""

    number: int
    start: int
    end: int


def own_features(matrix: Matrix, level: MatrixLevel) -> tuple[str, ...]:
    """Return the features that a level needs and no level that it requires does; of the lowest level, all."""
    lower = {name for one in matrix.levels if one.name in level.requires for name in one.features}
    return tuple(name for name in level.features if name not in lower)


def hot_loop(path: Path, own: Collection[str], baseline: Collection[str]) -> Loop | None:
    """Return the loop of an object or linked file that makes most use of `own` features.

    Loops are those of direct branches back. Of those without a smaller loop inside, it is the one with the highest
    share of instructions that need an own feature, weighted by the widest access to memory in it; where no loop has
    any, of instructions that need a feature beyond the baseline; where no loop has these either, the one with the
    widest access. None where there is no loop of up to 400 instructions, or where the processor's code is not decoded.

    Raises `AuditError` where the file is damaged or the decoder is not installed.
    """
    with open_binary(path) as binary:
        if binary.architecture is None or not is_decoded(binary.architecture):
            return None
        decoder = decoder_of(binary.architecture, binary.shown)
        code = Code(binary, decoder)
        search = _Search(code, _sets(decoder.name), baseline, own)
        best = max(search.loops(), key=search.score, default=None)
        return search.shown(best) if best is not None else None


@cache
def _sets(processor: str) -> InstructionSets:
    """Return what the instructions of a processor need; computed once, because that takes a tenth of a second."""
    found = find_processor(processor)
    assert found is not None and found.decoder is not None
    return InstructionSets(read_features(processor), found.decoder())


class _Search:
    """The loops of a file's code, and how each is judged."""

    def __init__(self, code: Code, sets: InstructionSets, baseline: Collection[str], own: Collection[str]) -> None:
        self._code = code
        self._sets = sets
        self._baseline = frozenset(baseline)
        wanted = frozenset(map(normal, own))
        self._beyond = sets.beyond(baseline)
        self._own = frozenset(
            code for code in self._beyond if any(normal(name) in wanted for name in sets.missing([code], baseline))
        )

    def loops(self) -> Iterator[_Place]:
        """Yield the innermost loops of all functions."""
        for number in range(len(self._code)):
            found = sorted(set(self._branches_back(number)), key=lambda span: (span[1] - span[0], span))
            inner: list[tuple[int, int]] = []
            for start, end in found:
                if not any(start <= first and last <= end for first, last in inner):
                    inner.append((start, end))
                    yield _Place(number, start, end)

    def _branches_back(self, number: int) -> Iterator[tuple[int, int]]:
        """Yield (first address, address after the last) of what each branch back in a function repeats."""
        places = {instruction.ip: place for place, instruction in enumerate(self._code.decode(number))}
        returned = -1  # the last address of a return: a jump back across one leads out of a block, not around a loop
        for start, raw in self._code.raw(number):
            for one in self._code.decoder.references(raw, start):
                if one.kind is Kind.END:
                    returned = one.at
                elif one.kind in (Kind.JUMP, Kind.BRANCH):
                    target = self._code.target(one)
                    back = returned < target <= one.at and target in places
                    if back and places[one.at] - places[target] < LONGEST:
                        yield target, one.after

    def _decode(self, loop: _Place, origin: int = 0) -> Iterator[Instruction]:
        """Yield a loop's instructions, with addresses from `origin`."""
        raw = self._code.binary.read(loop.start, loop.end - loop.start)
        return self._code.decoder.decode(raw, loop.start - origin)

    def score(self, loop: _Place) -> tuple[float, float, int, int]:
        """Return how much a loop uses own features, those beyond the baseline, memory, and how long it is."""
        every = list(self._decode(loop))
        width = max(map(self._code.decoder.memory_bytes, every))
        count = max(len(every), SHORTEST)
        own = sum(one.code in self._own for one in every)
        beyond = sum(one.code in self._beyond for one in every)
        return own * width / count, beyond * width / count, width, len(every)

    def shown(self, loop: _Place) -> Loop:
        """Return a loop as it is shown: offsets and branches from the start of its function."""
        start = self._code.start(loop.number)
        pairs = zip(self._decode(loop), self._decode(loop, start), strict=True)
        return Loop(
            demangle(self._code.name(loop.number)),
            tuple(
                LoopInstruction(moved.ip, self._text(there, moved), self._sets.missing([there.code], self._baseline))
                for there, moved in pairs
            ),
        )

    def _text(self, there: Instruction, moved: Instruction) -> str:
        """Return an instruction's text, and the symbol that its relocation names, if it has one."""
        text = ZEROS.sub("0x", self._code.decoder.text(moved))
        section = self._code.functions.section_of(there.ip)
        pointers = self._code.pointers
        reference = pointers.reference(section, there.ip, there.next_ip) if self._code.binary.relocatable else None
        name = pointers.target_name(reference) if reference is not None else ""
        return f"{text} ; {demangle(name)}" if name else text
