"""Tests of variables on the way to code: it may run only where a variable says so, such as what the CPU has."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

from ..binary.protocol import within
from ..code.code import Code
from ..processors.decoding import LEAVES, Kind

NEAR = 8  # bytes between reading a variable and the branch that depends on it


def guards_before(code: Code, steps: Iterable[tuple[int, int]]) -> list[int]:
    """Return the variables that decide whether control comes through a chain of calls, by their addresses.

    The chain has functions, each with an address in it. A branch that depends on such a variable skips what is at the
    address, or leads to what nothing runs into.
    """
    found = []
    for number, place in steps:
        listed = [one for start, raw in code.raw(number) for one in code.decoder.references(raw, start)]
        for flag, branch in pairwise(listed):
            if flag.kind is not Kind.FLAG or branch.kind is not Kind.BRANCH or branch.at - flag.after > NEAR:
                continue
            between = (one for one in listed if branch.at < one.at < branch.address <= place)
            skips = branch.at < place < branch.address
            section = code.binary.section_at(flag.address)
            if section is None or not section.writable or section.constant or within(code.pointers.spans, flag.address):
                continue
            if skips or any(one.kind in LEAVES for one in between):
                found.append(flag.address)
    return found
