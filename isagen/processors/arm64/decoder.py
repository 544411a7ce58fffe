"""Decodes code of arm64 by a table of encodings. Every instruction is a word of four bytes."""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator

from ...binary.reader import numbers_of
from ..addresses import MASK, NOTHING, Addresses, Found, signed
from ..decoding import Abi, Codes, Kind
from ..row_decoder import INVALID, NO_WORD, RowDecoder, Step
from .fields import PAGE, access, branch_target, is_call, written

NO_REGISTER = 31  # the zero register or the stack pointer, depending on the instruction
SMALL_LITERALS = frozenset({0x18, 0x98})  # LDR of 32 bits, LDRSW
BRANCHES = {0x14000000: Kind.JUMP, 0x94000000: Kind.CALL}
# (mask, value) of LDRB to w16 and of CBZ of w16. If the byte is not zero, the CPU has LSE, and the atomic instruction
# after CBZ runs. Compilers call functions of libgcc and compiler-rt with this check (-moutline-atomics).
LOADS_FLAG, BRANCHES_ON_FLAG = (0xFFC003FF, 0x39400210), (0xFF00001F, 0x34000010)


class Arm64Decoder(RowDecoder):
    """The instructions of arm64."""

    name = "arm64"
    longest = 4
    jump_size = 24
    key = 0xFFE00000
    # NOP, and zeros.
    pad = re.compile(rb"(?:\x1f\x20\x03\xd5|\x00+)*")
    ends = ("ret", "eret", "drps", "brk", "hlt", "udf")

    branch_target, is_call, written = staticmethod(branch_target), staticmethod(is_call), staticmethod(written)

    def __init__(self, abi: Abi) -> None:
        super().__init__(abi)
        self._lse = {code for code, form in enumerate(self.forms()) if form.needs == ("lse",)}

    def placed(self, raw: bytes, address: int) -> Iterator[Step]:
        at = address
        for word in numbers_of("I", raw, "little"):
            yield at, at + 4, word
            at += 4
        if len(raw) % 4:
            yield at, address + len(raw), NO_WORD

    def codes(self, raw: bytes, address: int) -> Codes:
        words = numbers_of("I", raw, "little")
        codes = {self.encodings[word] for word in set(words)}
        if not codes.isdisjoint(self._lse):
            codes = {self.encodings[word] for place, word in enumerate(words) if not self._is_outlined(words, place)}
        if len(raw) % 4:
            codes.add(INVALID)
        return frozenset(codes)

    def _is_outlined(self, words: array[int], place: int) -> bool:
        """Return whether a word is an atomic instruction after the toolchain's own check."""
        if place < 2 or self.encodings[words[place]] not in self._lse:
            return False
        before = zip((LOADS_FLAG, BRANCHES_ON_FLAG), words[place - 2 : place], strict=True)
        return all(word & mask == value for (mask, value), word in before)

    def reference(self, word: int, at: int, addresses: Addresses, linked: bool, fixed: bool) -> Found:
        target = branch_target(word, at)
        if target is not None:
            self.forget(addresses, word)
            return BRANCHES.get(word & 0xFC000000, Kind.BRANCH), target
        code = self.encodings[word]
        if code in self.stops:
            return self.stops[code], 0
        if word >> 25 == 0x6B:
            return self.through_register(word, word >> 5 & 31, addresses)
        if word & 0xFFFFF000 == 0xD5380000:  # MRS of an ID register, which Linux emulates
            return Kind.CPU_CHECK, 0
        formed = _formed(word, at, addresses) if linked or word & 0x9F000000 == 0x10000000 else None
        if formed is not None:
            addresses.forget(written(word))
            addresses.formed[word & 31] = formed
            return NOTHING if _is_page(word, at, formed) else (Kind.ADDRESS, formed)
        return _of_memory(word, at, addresses, linked)

    def copied(self, word: int) -> tuple[int, int] | None:
        is_move = word & 0xFFE0FFE0 == 0xAA0003E0 and word >> 16 & 31 != NO_REGISTER
        return (word & 31, word >> 16 & 31) if is_move else None


def _formed(word: int, at: int, addresses: Addresses) -> int | None:
    """Return the address that ADR, ADRP or ADD forms; None for other instructions and unknown addresses."""
    if word & 0x1F000000 == 0x10000000:
        offset = signed(word >> 3 & 0x1FFFFC | word >> 29 & 3, 21)
        return (at & -PAGE) + PAGE * offset & MASK if word >> 31 else at + offset & MASK
    if word & 0xFF800000 == 0x91000000 and (base := addresses.formed.get(word >> 5 & 31)) is not None:
        return base + ((word >> 10 & 0xFFF) << (12 if word >> 22 & 1 else 0)) & MASK
    return None


def _is_page(word: int, at: int, formed: int) -> bool:
    """Return whether an instruction forms the address of a page, which is only the first part of an address.

    ADRP does. In the last two words of a page, ADR may do so too: linkers write it there in place of ADRP, which may
    fail on Cortex-A53 (erratum 843419).
    """
    if word & 0x9F000000 == 0x10000000:
        return formed % PAGE == 0 and at % PAGE >= PAGE - 8
    return word & 0x9F000000 == 0x90000000


def _of_memory(word: int, at: int, addresses: Addresses, linked: bool) -> Found:
    if word & 0x3B000000 == 0x18000000:  # LDR of a literal
        place = at + 4 * signed(word >> 5 & 0x7FFFF, 19) & MASK
        addresses.forget(written(word))
        if word >> 24 != 0x58:
            return (Kind.FLAG if word >> 24 in SMALL_LITERALS else Kind.READ), place
        addresses.loaded[word & 31] = place
        return Kind.LOAD, place
    return addresses.used(access(word) if linked else None, written(word))
