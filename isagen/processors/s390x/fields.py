"""Reads fields of s390x instructions. A word has 48 bits, and a shorter instruction is in its upper bits.

Source: IBM, z/Architecture Principles of Operation, "Instruction Formats" and appendix B.
"""

from __future__ import annotations

from typing import NamedTuple

from ..addresses import MASK, signed

BITS = 48
ALWAYS = 15  # the mask of a branch that is always taken
RETURN = 14  # the register of the return address in the ABI
# First bytes of instructions whose last byte belongs to the operation too.
EXTENDED = frozenset({0xE3, 0xE7, 0xEB, 0xEC, 0xE6, 0xED})
# First bytes of instructions with four more bits of the operation in the second byte.
HALF = frozenset({0xA5, 0xA7, 0xC0, 0xC2, 0xC4, 0xC6, 0xC8, 0xCC})
# Relative branches that compare or count: the offset is in the third and fourth byte. BRC has a name below.
BRANCHES = frozenset({0x84, 0x85, 0xA706, 0xA707, 0xEC44, 0xEC45, 0xEC64, 0xEC65, *range(0xEC76, 0xEC80)})
BRC, BRAS, BRCL, BRASL, BRCTH, LARL = 0xA704, 0xA705, 0xC004, 0xC005, 0xCC06, 0xC000
BCR, BASR, BC, BIC = 0x07, 0x0D, 0x47, 0xE347
# Further calls, and the jump BSM. Their target is in a register, or is the sum of registers and a displacement.
OLD_CALLS = frozenset({0x05, 0x0C, 0x45, 0x4D})  # BALR, BASSM, BAL, BAS
BSM = 0x0B
# Comparisons with a branch to a base and a displacement.
COMPARE_AND_BRANCH = frozenset({0xECE4, 0xECE5, 0xECF6, 0xECF7, 0xECFC, 0xECFD, 0xECFE, 0xECFF})
LA, LAY = 0x41, 0xE371

# Instructions that load, compare, test or AND a value in memory, each with the size in bytes that it reads.
READING = {
    **dict.fromkeys((0xC408, 0xC608, 0xC60A, 0xE304, 0xE320, 0xE321, 0xE558, 0xE559), 8),
    **dict.fromkeys((0xC40C, 0xC40D, 0xC40E, 0xC60C, 0xC60D, 0xC60E, 0xC60F, 0x58, 0x59, 0x55, 0x54), 4),
    **dict.fromkeys((0xE312, 0xE314, 0xE316, 0xE330, 0xE331, 0xE354, 0xE355, 0xE358, 0xE359, 0xE55C, 0xE55D), 4),
    **dict.fromkeys((0xC402, 0xC404, 0xC405, 0xC406, 0xC604, 0xC605, 0xC606, 0xC607, 0x48, 0x49), 2),
    **dict.fromkeys((0xE315, 0xE334, 0xE378, 0xE379, 0xE391, 0xE395, 0xE554, 0xE555), 2),
    **dict.fromkeys((0x43, 0x91, 0x95, 0xE373, 0xE376, 0xE377, 0xE390, 0xE394, 0xEB51, 0xEB55), 1),
}
LOADS = frozenset({0xC408, 0xE304})  # loads of a pointer
WRITING = frozenset(
    {0xC40B, 0xE324, 0xE32F, 0xE548, 0xEB7A, 0xEB7E, 0xC40F, 0x50, 0xE350, 0xE33E, 0xE54C, 0xEB6A, 0xEB6E, 0xC407, 0x40}
    | {0xE370, 0xE33F, 0xE544, 0x42, 0x92, 0x94, 0x96, 0x97, 0xE372, 0xEB52, 0xEB54, 0xEB56, 0xEB57}
)
FLOATS = frozenset({0x68, 0x78, 0xED65, 0xED64})  # loads of floating-point numbers
# Formats with a base and a displacement, but without an index register: SI, SIY, SIL.
WITHOUT_INDEX = frozenset({0x91, 0x92, 0x94, 0x95, 0x96, 0x97, *range(0xE544, 0xE55E), *range(0xEB51, 0xEB80)})


def operation(word: int) -> int:
    """Return the number of the operation: the first byte, followed by the other bits of the operation, if any."""
    first = word >> 40
    if first in EXTENDED:
        return first << 8 | word & 0xFF
    if first in HALF:
        return first << 8 | word >> 32 & 15
    if first in (0xB2, 0xB3, 0xB9, 0xE5):
        return first << 8 | word >> 32 & 0xFF
    return first


def size(first: int) -> int:
    """Return the size in bytes of an instruction with this first byte."""
    return (2, 4, 4, 6)[first >> 6]


def first_register(word: int) -> int:
    """Return the field of the first register, which in BC, BCR, BIC, BRC and BRCL is the mask."""
    return word >> 36 & 15


def branch_target(word: int, address: int) -> int | None:
    """Return the target of a direct branch or call; None for other instructions, and for BRC and BRCL never taken."""
    code = operation(word)
    if code in (BRC, BRCL) and not first_register(word):
        return None
    if code in BRANCHES or code in (BRC, BRAS):
        return address + 2 * signed(word >> 16 & 0xFFFF, 16) & MASK
    return relative(word, address) if code in (BRCL, BRASL, BRCTH) else None


def relative(word: int, address: int) -> int:
    """Return the address at the signed distance in the last 32 bits of a word."""
    return address + 2 * signed(word & 0xFFFFFFFF, 32) & MASK


class Through(NamedTuple):
    """A branch or call to the address in a register; `mask` is its condition."""

    register: int
    mask: int
    calls: bool


def through(word: int) -> Through | None:
    """Return the fields of BCR or BASR; None for other instructions, and for those that do not branch."""
    first, second = word >> 40, word >> 32 & 15
    if first in (BCR, BASR) and second and (first == BASR or first_register(word)):
        return Through(second, ALWAYS if first == BASR else first_register(word), first == BASR)
    return None


def is_call(word: int) -> bool:
    """Return whether an instruction is a call."""
    code = operation(word)
    if code == BRAS:
        return first_register(word) == RETURN
    if code in (BRASL, 0x45, 0x4D):
        return True
    return code in (BASR, 0x05, 0x0C) and word >> 32 & 15 != 0


def at_base(word: int) -> tuple[int, int] | None:
    """Return (register, displacement) of an operand in memory; None if there is an index register or no base."""
    code, base, displacement = operation(word), word >> 28 & 15, word >> 16 & 0xFFF
    has_index = code not in WITHOUT_INDEX and word >> 32 & 15
    if not base or has_index:
        return None
    if code >> 8 in (0xE3, 0xEB):
        displacement = signed(displacement | (word >> 8 & 0xFF) << 12, 20)
    return base, displacement


# These write no general register: stores, comparisons, tests, SI, SS, floating-point, branches without count.
WRITES_NONE = frozenset(
    {BRC, BRCL, 0x07, 0x90, 0xBE, 0xE325, 0xE326, 0xE32E, 0xE336, 0xE38E, 0xE3C3, 0xE3C7, 0xE3CB}
    | {*range(0x20, 0x40), *range(0x60, 0x71), *range(0x72, 0x80), *range(0x91, 0x98), *range(0xD0, 0xE0)}
    | {*range(0xF0, 0x100), *range(0xE500, 0xE600), *range(0xED00, 0xEE00), *range(0xB300, 0xB390)}
    | {0xEB24, 0xEB26, 0xEB2C, 0xEB2D, 0xEB90, 0xEBE3, 0xEBF3, *range(0xEB51, 0xEB58), 0xEB6A, 0xEB6E, 0xEB7A, 0xEB7E}
    | {*range(0xEC64, 0xEC66), *range(0xEC70, 0xEC80), *COMPARE_AND_BRANCH, *range(0xC600, 0xC610)}
    | {0x15, 0x19, 0x49, 0x55, 0x59, 0xBD, 0xA70E, 0xA70F, 0xB920, 0xB921, 0xB930, 0xB931, 0xB9CD, 0xB9CF}
    | {0xE320, 0xE321, 0xE330, 0xE331, 0xE334, 0xE355, 0xE359, 0xE379, 0xE3CD, 0xE3CF, 0xEB20, 0xEB21}
    | {*range(0xA700, 0xA704), *range(0xC20C, 0xC210)}
    | WRITING
)
VECTOR_TO_GENERAL = frozenset({0xE721, 0xE727, 0xE650, 0xE652})  # VLGV, LCBB, VCVB, VCVBG
RANGES = frozenset({0x98, 0xEF, 0xEB04, 0xEB96, 0xEB98})  # LM and others load all registers from field R1 to field R3
TWO_PAIRS = frozenset({0x0E, 0x0F, 0xA8, 0xA9, 0xEE, 0xEB8E, 0xEB8F})  # MVCL, CLCL, MVCLE, CLCLE, PLO, MVCLU, CLCLU
THREE_PAIRS = frozenset({0xB929, 0xB92D})  # KMA, KMCTR
WITHOUT_FIELD = {0x0A: (2,), 0xD0: (1, 2), 0xDD: (1, 2), 0xDF: (1,)}  # SVC, TRTR, TRT, EDMK write fixed registers


def written(word: int) -> tuple[int, ...]:
    """Return the general registers that an instruction other than a call may write."""
    code, first, third = operation(word), first_register(word), word >> 32 & 15
    if code in WITHOUT_FIELD:
        return WITHOUT_FIELD[code]
    if code in WRITES_NONE or (code >> 8 in (0xE6, 0xE7) and code not in VECTOR_TO_GENERAL):
        return ()
    if code in RANGES:
        return tuple((first + number) % 16 for number in range((third - first) % 16 + 1))
    if code >> 8 in (0xB2, 0xB3, 0xB9):
        first = word >> 20 & 15
        if code in (0xB904, 0xB914, 0xB908, 0xB902):  # LGR, LGFR, AGR, LTGR, the most frequent, write one
            return (first,)
        pairs = (first, word >> 16 & 15, *((word >> 28 & 15,) if code in THREE_PAIRS else ()))
        return tuple(number + more & 15 for number in pairs for more in (0, 1))
    if code in (LA, LAY, LARL, 0x18, 0x58) or code in LOADS or code in READING:
        return (first,)
    return (first, first + 1 & 15, third, third + 1 & 15) if code in TWO_PAIRS else (first, first + 1 & 15)


def copied(word: int) -> tuple[int, int] | None:
    """Return (to, from) of a copied register, to which LA and LAY without an index add a constant; None for others."""
    code = operation(word)
    if code == 0x18:
        return first_register(word), word >> 32 & 15
    if code == 0xB904:
        return word >> 20 & 15, word >> 16 & 15
    base = at_base(word) if code in (LA, LAY) else None
    return (first_register(word), base[0]) if base is not None else None
