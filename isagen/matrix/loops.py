"""Finds the hot loop of a copy: the innermost loop that makes the most use of the features that its level adds."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

from ..binary.formats import open_binary
from ..binary.mangling import demangle
from ..code.code import Code
from ..model.matrix import Matrix
from ..processors.decoding import Codes, Instruction, Kind
from ..processors.instruction_sets import InstructionSets, instruction_sets
from ..processors.instructions import have, normal_name
from ..processors.registry import decoder_of, is_decoded
from .words import own_features

# Loops with more instructions are passed over: a page has no room for them.
LONGEST = 400
# Loops with fewer instructions are scored as if they had this many: otherwise, short remainder loops score too high.
SHORTEST = 8
ZEROS = re.compile(r"\b0x0+(?=[0-9a-fA-F])")


class LoopInstruction(NamedTuple):
    """One instruction. `offset` counts from its function's start; `features` are what it needs beyond the baseline."""

    offset: int
    text: str
    features: tuple[str, ...]


class Loop(NamedTuple):
    """A loop: the name of its function, and the instructions in the order of their addresses."""

    function: str
    instructions: tuple[LoopInstruction, ...]


def hot_loops(matrix: Matrix, objects: Mapping[tuple[str, str], Path]) -> dict[tuple[str, str], Loop]:
    """Return the hot loops of the copies whose `objects` are given; both mappings are by (kernel source, level).

    A copy gets the loop of a lower level's copy if both have the same code. Raises `AuditError` if an object is damaged
    or if the decoder is not installed.
    """
    own = {level.name: own_features(matrix, level) for level in matrix.levels}
    loops: dict[tuple[str, str], Loop | None] = {}
    for kernel, level, cell in matrix.cells():
        copy = kernel.source, level
        if copy in objects and cell.same_as:
            loops[copy] = loops.get((kernel.source, cell.same_as))
        elif copy in objects:
            loops[copy] = hot_loop(objects[copy], matrix.features, own[level], matrix.baseline)
    return {copy: loop for copy, loop in loops.items() if loop is not None}


def hot_loop(path: Path, features: str, own: tuple[str, ...], baseline: tuple[str, ...]) -> Loop | None:
    """Return the innermost loop with the highest score in the object at `path`.

    `features` is the name of the features file. `own` are the features that the object's level adds to those of lower
    levels, `baseline` those of the baseline. A loop is the instructions from the target of a direct backward branch to
    the branch. Its score is the share of its instructions that need one of `own` beyond the baseline, times the width
    of its widest vector register. The result is None if there is no loop of at most `LONGEST` instructions, or if
    isagen has no decoder for the code.
    """
    with open_binary(path) as binary:
        if binary.architecture is None or not is_decoded(binary.architecture):
            return None
        decoder = decoder_of(binary.architecture, str(path))
        sets = instruction_sets(features, decoder)
        wanted = _own_codes(sets, own, baseline)

        def score(loop: list[Instruction]) -> tuple[float, int, int]:
            width = max(1, *map(decoder.width, {one.code for one in loop}))
            share = sum(one.code in wanted for one in loop) / max(len(loop), SHORTEST)
            return share * width, width, len(loop)

        code = Code(binary, decoder)
        loops = (loop for number in range(len(code)) for loop in _loops(code, number))
        best = max(loops, key=lambda loop: score(loop[1]), default=None)
        if best is None:
            return None
        # The offsets and branch targets that are shown count from the start of the function.
        number, loop = best
        raw = binary.read(loop[0].ip, loop[-1].next_ip - loop[0].ip)
        moved = decoder.decode(raw, loop[0].ip - code.start(number))
        shown = (
            LoopInstruction(at.ip, _text(code, one, at), sets.missing([one.code], baseline))
            for one, at in zip(loop, moved, strict=True)
        )
        return Loop(demangle(code.name(number)), tuple(shown))


@cache
def _own_codes(sets: InstructionSets, own: tuple[str, ...], baseline: tuple[str, ...]) -> Codes:
    """Return the codes of instructions that need one of the features `own` beyond those of the baseline."""
    names = frozenset(map(normal_name, own))
    beyond = sets.beyond(baseline)
    return frozenset(code for code in beyond if any(have(names, [name]) for name in sets.missing([code], baseline)))


def _loops(code: Code, number: int) -> Iterator[tuple[int, list[Instruction]]]:
    """Yield (the function's number, the instructions) of each innermost loop of a function."""
    instructions = list(code.decode(number))
    indexes = {one.ip: index for index, one in enumerate(instructions)}
    inner: list[tuple[int, int]] = []
    for first, last in sorted(set(_branches_back(code, number, indexes)), key=lambda span: (span[1] - span[0], span)):
        if not any(first <= start and end <= last for start, end in inner):
            inner.append((first, last))
            yield number, instructions[first : last + 1]


def _branches_back(code: Code, number: int, indexes: Mapping[int, int]) -> Iterator[tuple[int, int]]:
    """Yield (index of the first instruction, index of the last) of each loop of at most `LONGEST` instructions."""
    # The address of the last return so far. Compilers move rare code behind a return. A jump from such code to an
    # address before the return closes no loop.
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
    """Return an instruction's text, with the symbol of its first relocation if there is one.

    `moved` is the instruction `one`, decoded at its offset in the function.
    """
    text = ZEROS.sub("0x", code.decoder.text(moved))
    section = code.functions.section_of(one.ip)
    relocations = code.pointers.relocations(section, one.ip, one.next_ip) if code.binary.relocatable else ()
    name = code.pointers.target_name(relocations[0]) if relocations else ""
    return f"{text} ; {demangle(name)}" if name else text
