"""Decodes code of s390x by a table of encodings: instructions of two, four and six bytes."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..addresses import MASK, NOTHING, Addresses, Found
from ..decoding import SMALL, Abi, Kind
from ..row_decoder import NO_WORD, RowDecoder, Step
from . import fields as f

TRAP = 2  # the distance of a branch into its own second half: compilers write such a branch as a trap


class S390xDecoder(RowDecoder):
    """The instructions of s390x."""

    name = "s390x"
    longest = 6
    jump_size = 32
    key = 0xFF00000000FF
    # Branches that are never taken, and zeros.
    pad = re.compile(rb"(?:\x07[\x00-\x0f]|\x47\x00\x00\x00|\xc0\x04\x00{4}|(?:\x00\x00)+)*")
    ends = ("trap2", "trap4", "illegal")

    branch_target, is_call = staticmethod(f.branch_target), staticmethod(f.is_call)
    written, copied = staticmethod(f.written), staticmethod(f.copied)

    def __init__(self, abi: Abi) -> None:
        super().__init__(abi)
        self._questions = self.codes_of("stfle") | self.codes_of("stfl")

    def placed(self, raw: bytes, address: int) -> Iterator[Step]:
        place, end = 0, len(raw)
        while place < end:
            size = f.size(raw[place])
            after = place + size
            if after > end:
                yield address + place, address + end, NO_WORD
                return
            yield address + place, address + after, int.from_bytes(raw[place:after], "big") << f.BITS - 8 * size
            place = after

    def reference(self, word: int, at: int, addresses: Addresses, linked: bool, fixed: bool) -> Found:
        code = self.encodings[word]
        if code in self.stops:
            return self.stops[code], 0
        if code in self._questions:
            return Kind.CPU_CHECK, 0
        operation, target = f.operation(word), f.branch_target(word, at)
        if target is not None:
            self.forget(addresses, word)
            is_always = operation in (f.BRC, f.BRCL) and f.first_register(word) == f.ALWAYS
            if is_always and target == at + TRAP:
                return Kind.END, 0
            if operation == f.BRAS and f.first_register(word) != f.RETURN:
                addresses.formed[f.first_register(word)] = at + 4  # data follows, and the branch skips it
                return Kind.JUMP, target
            return (Kind.CALL if f.is_call(word) else Kind.JUMP if is_always else Kind.BRANCH), target
        if (through := f.through(word)) is not None:
            return self._through(word, through, addresses)
        if (kind := _unknown(word, operation)) is not None:
            self.forget(addresses, word)
            return kind, 0
        return _of_address(word, operation, at, addresses, linked)

    def _through(self, word: int, through: f.Through, addresses: Addresses) -> Found:
        is_known = through.register in addresses.formed or through.register in addresses.loaded
        if not through.calls and through.register == f.RETURN and not is_known:
            return (Kind.END, 0) if through.mask == f.ALWAYS else NOTHING
        kind, target = self.through_register(word, through.register, addresses)
        if through.mask != f.ALWAYS:  # control may go on
            return (Kind.BRANCH, target) if kind is Kind.JUMP else (Kind.CALL_UNKNOWN, 0)
        return kind, target


def _unknown(word: int, operation: int) -> Kind | None:
    """Return the kind of a call or jump to an unknown address; None for other instructions.

    A conditional jump counts as a call, as control may go on.
    """
    if operation in f.OLD_CALLS:
        return Kind.CALL_UNKNOWN if f.is_call(word) else None
    if operation == f.BSM:
        return Kind.JUMP_UNKNOWN if word >> 32 & 15 else None
    if operation in (f.BC, f.BIC) and f.first_register(word):
        return Kind.JUMP_UNKNOWN if f.first_register(word) == f.ALWAYS else Kind.CALL_UNKNOWN
    if operation in f.COMPARE_AND_BRANCH and word >> 28 & 15 != f.RETURN:
        return Kind.CALL_UNKNOWN
    return None


def _of_address(word: int, operation: int, at: int, addresses: Addresses, linked: bool) -> Found:
    written, first = f.written(word), f.first_register(word)
    place = None
    if word >> 40 in (0xC4, 0xC6) or operation == f.LARL:
        place = f.relative(word, at)
    elif linked and (operand := f.at_base(word)) is not None:
        base = addresses.formed.get(operand[0])
        place = base + operand[1] & MASK if base is not None else None
    if place is None:
        size = f.READING.get(operation, SMALL + 1)
        operand = f.at_base(word) if linked and size <= SMALL else None
        loaded = addresses.loaded.get(operand[0]) if operand is not None else None
        addresses.forget(written)
        return (Kind.FLAG, loaded) if loaded is not None else NOTHING
    addresses.forget(written)
    if operation in (f.LARL, f.LA, f.LAY):
        addresses.formed[first] = place
        return Kind.ADDRESS, place
    if operation in f.LOADS:
        addresses.loaded[first] = place
        return Kind.LOAD, place
    if operation in f.WRITING:
        return Kind.WRITE, place
    if operation in f.READING:
        return (Kind.FLAG if f.READING[operation] <= SMALL else Kind.READ), place
    return (Kind.READ, place) if operation in f.FLOATS or word >> 40 in (0xC6, 0xE7) else NOTHING
