"""The hot loop of a copy: the innermost loop that uses the level's new features most."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from ..binary.formats import demangle, open_binary
from ..code.code import Code
from ..model.matrix import Matrix
from ..processors.decoding import Instruction, Kind
from ..processors.instruction_sets import InstructionSets, instruction_sets
from ..processors.instructions import normal
from ..processors.registry import decoder_of, is_decoded
from .words import own_features

# Longer loops are not shown: no page has room for them.
LONGEST = 400
# Shorter loops are scored as if this long: remainder loops would win by being short.
SHORTEST = 8
ZEROS = re.compile(r"\b0x0+(?=[0-9a-fA-F])")


class LoopInstruction(NamedTuple):
    """One instruction: its offset from its function's start, its text, and the features that it needs."""

    offset: int
    text: str
    features: tuple[str, ...]


class Loop(NamedTuple):
    """A loop of a function, in the order of addresses. Features are those beyond the baseline."""

    function: str
    instructions: tuple[LoopInstruction, ...]


def hot_loops(matrix: Matrix, objects: Mapping[tuple[str, str], Path]) -> dict[tuple[str, str], Loop]:
    """Return the hot loops of the compiled `objects` of a build, by kernel source and level.

    Copies of a kernel with the same code have the loop of the lowest one. Raises `AuditError` where an object is
    damaged or the decoder is not installed.
    """
    sets = _sets_of(matrix.features, objects.values())
    if sets is None:
        return {}
    loops: dict[tuple[str, str], Loop | None] = {}
    found: dict[tuple[str, str], Loop] = {}
    for level in matrix.levels:
        search = LoopSearch(sets, own_features(matrix, level), matrix.baseline)
        for kernel in matrix.kernels:
            place, code = (kernel.source, level.name), kernel.levels[level.name].code
            if place not in objects:
                continue
            same = (kernel.source, code.digest if code is not None else level.name)
            if same not in loops:
                loops[same] = search.hot_loop(objects[place])
            loop = loops[same]
            if loop is not None:
                found[place] = loop
    return found


def _sets_of(features: str, objects: Iterable[Path]) -> InstructionSets | None:
    """Return the instruction sets of the processor of all `objects`; None if it is not decoded."""
    for path in objects:
        with open_binary(path) as binary:
            if binary.architecture is not None and is_decoded(binary.architecture):
                return instruction_sets(features, decoder_of(binary.architecture, str(path)))
    return None


class LoopSearch:
    """The search for hot loops in the copies of a level, whose new features are `own`."""

    def __init__(self, sets: InstructionSets, own: Collection[str], baseline: Collection[str]) -> None:
        self._sets = sets
        self._baseline = frozenset(baseline)
        wanted = frozenset(map(normal, own))
        self._beyond = sets.beyond(baseline)
        self._own = frozenset(
            code for code in self._beyond if any(normal(name) in wanted for name in sets.missing([code], baseline))
        )

    def hot_loop(self, path: Path) -> Loop | None:
        """Return the loop of an object or linked file that makes most use of own features.

        Loops are what direct backward branches repeat. Innermost loops are ordered by the share of instructions that
        need an own feature, times the widest memory access; then by the same with features beyond the baseline; then by
        the widest access; then by length. None where there is no loop of up to 400 instructions, or where the code is
        not decoded.
        """
        with open_binary(path) as binary:
            if binary.architecture is None or not is_decoded(binary.architecture):
                return None
            code = Code(binary, self._sets.decoder)
            loops = (found for number in range(len(code)) for found in _loops(code, number))
            best = max(loops, key=lambda found: self._score(found[1]), default=None)
            return self._shown(code, *best) if best is not None else None

    def _score(self, loop: list[Instruction]) -> tuple[float, float, int, int]:
        """Return how much a loop uses own features, those beyond the baseline, memory, and how long it is."""
        width = max(map(self._sets.decoder.memory_bytes, loop))
        count = max(len(loop), SHORTEST)
        own = sum(one.code in self._own for one in loop)
        beyond = sum(one.code in self._beyond for one in loop)
        return own * width / count, beyond * width / count, width, len(loop)

    def _shown(self, code: Code, number: int, loop: list[Instruction]) -> Loop:
        """Return a loop as it is shown: offsets and branches from the start of its function."""
        start = loop[0].ip
        raw = code.binary.read(start, loop[-1].next_ip - start)
        moved = self._sets.decoder.decode(raw, start - code.start(number))
        return Loop(
            demangle(code.name(number)),
            tuple(
                LoopInstruction(there.ip, _text(code, one, there), self._sets.missing([one.code], self._baseline))
                for one, there in zip(loop, moved, strict=True)
            ),
        )


def _loops(code: Code, number: int) -> Iterator[tuple[int, list[Instruction]]]:
    """Yield the innermost loops of a function, with its number."""
    instructions = list(code.decode(number))
    places = {one.ip: place for place, one in enumerate(instructions)}
    inner: list[tuple[int, int]] = []
    for first, last in sorted(set(_branches_back(code, number, places)), key=lambda span: (span[1] - span[0], span)):
        if not any(first <= start and end <= last for start, end in inner):
            inner.append((first, last))
            yield number, instructions[first : last + 1]


def _branches_back(code: Code, number: int, places: Mapping[int, int]) -> Iterator[tuple[int, int]]:
    """Yield the indexes of the first and last instruction in the loop of each backward branch."""
    returned = -1  # the last address of a return: a jump back across one leads out of a block, not around a loop
    for start, raw in code.raw(number):
        for one in code.decoder.references(raw, start):
            if one.kind is Kind.END:
                returned = one.at
            elif one.kind in (Kind.JUMP, Kind.BRANCH):
                target = code.target(one)
                back = returned < target <= one.at and target in places
                if back and places[one.at] - places[target] < LONGEST:
                    yield places[target], places[one.at]


def _text(code: Code, one: Instruction, moved: Instruction) -> str:
    """Return the text of `moved`, an instruction at its offset, and its relocation's symbol if any."""
    text = ZEROS.sub("0x", code.decoder.text(moved))
    section = code.functions.section_of(one.ip)
    reference = code.pointers.reference(section, one.ip, one.next_ip) if code.binary.relocatable else None
    name = code.pointers.target_name(reference) if reference is not None else ""
    return f"{text} ; {demangle(name)}" if name else text
