"""Finds the hot loop of a copy: the innermost loop that uses the features of the copy's level most."""

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
from ..processors.instructions import have, normal_name
from ..processors.registry import decoder_of, is_decoded
from .words import own_features

# Loops with more instructions are not searched: a page has no room for them.
LONGEST = 400
# Loops with fewer instructions are scored as if they had this many: short remainder loops would score too high.
SHORTEST = 8
ZEROS = re.compile(r"\b0x0+(?=[0-9a-fA-F])")


class LoopInstruction(NamedTuple):
    """One instruction: its offset from its function's start, its text, and the features that it needs."""

    offset: int
    text: str
    features: tuple[str, ...]


class Loop(NamedTuple):
    """A loop of a function: its instructions in the order of addresses, with their features beyond the baseline."""

    function: str
    instructions: tuple[LoopInstruction, ...]


def hot_loops(matrix: Matrix, objects: Mapping[tuple[str, str], Path]) -> dict[tuple[str, str], Loop]:
    """Return the hot loops of the compiled `objects` of a build, by kernel source and level.

    Copies of a kernel with the same code have the loop of the lowest of these copies. Raises `AuditError` if an object
    is damaged or if the decoder is not installed.
    """
    sets = _sets_of(matrix.features, objects.values())
    if sets is None:
        return {}
    by_code: dict[tuple[str, str], Loop | None] = {}
    loops: dict[tuple[str, str], Loop] = {}
    for level in matrix.levels:
        search = LoopSearch(sets, own_features(matrix, level), matrix.baseline)
        for kernel in matrix.kernels:
            copy, code = (kernel.source, level.name), kernel.levels[level.name].code
            if copy not in objects:
                continue
            key = (kernel.source, code.digest if code is not None else level.name)
            if key not in by_code:
                by_code[key] = search.hot_loop(objects[copy])
            loop = by_code[key]
            if loop is not None:
                loops[copy] = loop
    return loops


def _sets_of(features: str, objects: Iterable[Path]) -> InstructionSets | None:
    """Return the instruction sets of the first of `objects` whose code is decoded; None if there is none."""
    for path in objects:
        with open_binary(path) as binary:
            if binary.architecture is not None and is_decoded(binary.architecture):
                return instruction_sets(features, decoder_of(binary.architecture, str(path)))
    return None


class LoopSearch:
    """The search for hot loops in the copies of one level. `own` are the features that lower levels do not have."""

    def __init__(self, sets: InstructionSets, own: Collection[str], baseline: Collection[str]) -> None:
        self._sets = sets
        self._baseline = frozenset(baseline)
        own_names = frozenset(map(normal_name, own))
        self._beyond = sets.beyond(baseline)
        self._own = frozenset(
            code
            for code in self._beyond
            if any(have(own_names, [feature]) for feature in sets.missing([code], baseline))
        )

    def hot_loop(self, path: Path) -> Loop | None:
        """Return the loop of an object or linked file that uses the level's own features most.

        A loop is the instructions from the target of a direct backward branch to the branch. The score of an innermost
        loop is the share of its instructions that need an own feature, times the bytes of its widest memory access.
        Ties are decided by the same product for features beyond the baseline, by the widest access, and by the number
        of instructions. None if there is no loop of at most `LONGEST` instructions, or if the code is not decoded.
        """
        with open_binary(path) as binary:
            if binary.architecture is None or not is_decoded(binary.architecture):
                return None
            code = Code(binary, self._sets.decoder)
            loops = (loop for number in range(len(code)) for loop in _loops(code, number))
            best = max(loops, key=lambda loop: self._score(loop[1]), default=None)
            return self._shown(code, *best) if best is not None else None

    def _score(self, loop: list[Instruction]) -> tuple[float, float, int, int]:
        """Return the score of a loop, and what decides ties, as `hot_loop` describes them."""
        width = max(map(self._sets.decoder.memory_bytes, loop))
        count = max(len(loop), SHORTEST)
        own = sum(one.code in self._own for one in loop)
        beyond = sum(one.code in self._beyond for one in loop)
        return own * width / count, beyond * width / count, width, len(loop)

    def _shown(self, code: Code, number: int, loop: list[Instruction]) -> Loop:
        """Return a loop as it is shown: its offsets and branch targets count from the start of its function."""
        start = loop[0].ip
        raw = code.binary.read(start, loop[-1].next_ip - start)
        moved = self._sets.decoder.decode(raw, start - code.start(number))
        return Loop(
            demangle(code.name(number)),
            tuple(
                LoopInstruction(at.ip, _text(code, one, at), self._sets.missing([one.code], self._baseline))
                for one, at in zip(loop, moved, strict=True)
            ),
        )


def _loops(code: Code, number: int) -> Iterator[tuple[int, list[Instruction]]]:
    """Yield each innermost loop of a function, with the function's number."""
    instructions = list(code.decode(number))
    indexes = {one.ip: index for index, one in enumerate(instructions)}
    inner: list[tuple[int, int]] = []
    for first, last in sorted(set(_branches_back(code, number, indexes)), key=lambda span: (span[1] - span[0], span)):
        if not any(first <= start and end <= last for start, end in inner):
            inner.append((first, last))
            yield number, instructions[first : last + 1]


def _branches_back(code: Code, number: int, indexes: Mapping[int, int]) -> Iterator[tuple[int, int]]:
    """Yield the indexes of the first and the last instruction of each loop; `indexes` maps addresses to them."""
    # The address of the last return. Compilers move rare code behind a return: its jump back, to an address before the
    # return, closes no loop.
    returned = -1
    for start, raw in code.raw(number):
        for one in code.decoder.references(raw, start):
            if one.kind is Kind.END:
                returned = one.at
            elif one.kind in (Kind.JUMP, Kind.BRANCH):
                target = code.target(one)
                back = returned < target <= one.at and target in indexes
                if back and indexes[one.at] - indexes[target] < LONGEST:
                    yield indexes[target], indexes[one.at]


def _text(code: Code, one: Instruction, moved: Instruction) -> str:
    """Return the text of the instruction `one`, and the symbol that its relocation names, if it has one.

    `moved` is the same instruction, decoded at its offset in the function.
    """
    text = ZEROS.sub("0x", code.decoder.text(moved))
    section = code.functions.section_of(one.ip)
    relocations = code.pointers.relocations(section, one.ip, one.next_ip) if code.binary.relocatable else ()
    name = code.pointers.target_name(relocations[0]) if relocations else ""
    return f"{text} ; {demangle(name)}" if name else text
