"""Reads fields of arm64 instructions: targets of branches, registers that are written, accesses to memory.

Source: Arm, Architecture Reference Manual for A-profile, C4.1, "A64 instruction set encoding".
"""

from __future__ import annotations

from ..addresses import MASK, Access, signed

PAGE = 4096


def branch_target(word: int, address: int) -> int | None:
    """Return the target of a direct branch or call; None for other instructions."""
    if word & 0x7C000000 == 0x14000000:  # B, BL
        offset = signed(word & 0x3FFFFFF, 26)
    elif word & 0xFF000000 == 0x54000000 or word & 0x7E000000 == 0x34000000:  # B.cond, BC.cond, CBZ, CBNZ
        offset = signed(word >> 5 & 0x7FFFF, 19)
    elif word & 0x7E000000 == 0x36000000:  # TBZ, TBNZ
        offset = signed(word >> 5 & 0x3FFF, 14)
    elif word & 0x7E000000 == 0x74000000:  # CB<cond>
        offset = signed(word >> 5 & 0x1FF, 9)
    else:
        return None
    return address + 4 * offset & MASK


def is_call(word: int) -> bool:
    """Return whether an instruction is a call: BL, BLR, or BLR with authentication."""
    return word & 0xFC000000 == 0x94000000 or word & 0xFEFFF000 == 0xD63F0000


def access(word: int) -> Access | None:
    """Return the access of most loads and stores at a constant offset from an unchanged base; None for others."""
    base, vector, scale = word >> 5 & 31, bool(word >> 26 & 1), word >> 30
    options = word >> 22 & 3
    if word & 0x3A000000 == 0x28000000 and word >> 23 & 3 == 2:  # LDP, STP that do not write to the base
        size = 4 << scale if vector else 8 if scale == 2 else 4
        return Access(base, size * signed(word >> 15 & 127, 7), 2 * size, bool(options & 1), False)
    if word & 0x3F000000 == 0x08000000:  # exclusive and ordered accesses
        return Access(base, 0, 1 << scale, bool(options & 1) and not _compares(word), True)
    if word & 0x3B000000 == 0x39000000 or word & 0x3B200C00 == 0x38000000:
        if vector and options & 2:
            scale = 4
        elif scale == 3 and options & 2 and not vector:
            return None  # PRFM
        is_scaled = word >> 24 & 1
        offset = (word >> 10 & 0xFFF) << scale if is_scaled else signed(word >> 12 & 0x1FF, 9)
        return Access(base, offset, 1 << scale, bool(options & 1 if vector else options), not vector)
    return None


def _compares(word: int) -> bool:
    """Return whether an exclusive or ordered access is CAS or CASP."""
    return word & 0xA00000 == 0xA00000 or word & 0x80A00000 == 0x200000


def written(word: int) -> tuple[int, ...]:
    """Return the general registers that an instruction other than a call may write; 31 stands for XZR or SP.

    For instructions of SVE that write a general register, such as CNTB, no register is returned.
    """
    low, base = word & 31, word >> 5 & 31
    group = word >> 25 & 15
    if group in (8, 9) or group & 7 == 5:  # data processing; CCMP and CCMN write flags alone
        return (low,) if word & 0x1FE00000 != 0x1A400000 else ()
    if group & 5 == 4:
        return _written_by_access(word, low, base)
    if word & 0xFFD00000 == 0xD5100000 or word & 0xFFF80000 == 0xD5280000:  # MRS, SYSL
        return (low,)
    # FMOV, UMOV, SMOV and conversions. Those that write a vector register are included, as forgetting the value of one
    # register too many does no harm. Conversions to fixed-point have the pattern 0x1E180000.
    is_conversion = word & 0x5F20FC00 == 0x1E200000 or word & 0x5F3E0000 == 0x1E180000
    if is_conversion or word & 0xBFE0D400 == 0x0E001400:
        return (low,)
    return ()


def _written_by_access(word: int, low: int, base: int) -> tuple[int, ...]:
    vector, options = word >> 26 & 1, word >> 22 & 3
    registers: tuple[int, ...] = ()
    if word & 0x3B000000 == 0x18000000:  # LDR of a literal; PRFM
        return () if vector or word >> 30 == 3 else (low,)
    if word & 0x3A000000 == 0x28000000:  # pairs
        if options & 1 and not vector:
            registers = (low, word >> 10 & 31)
        return (*registers, base) if word >> 23 & 1 else registers
    if word & 0x3F000000 == 0x08000000:  # exclusive, ordered: loads write `low`, stores write a status to `third`
        third = word >> 16 & 31
        if _compares(word):
            return (third,) if options & 2 else (third, third + 1)
        return (low, word >> 10 & 31) if options & 1 else (third,)
    if word & 0x3F200C00 == 0x19000000:  # LDAPUR, STLUR
        return (low,) if options else ()
    if not vector and word & 0x3B200400 == 0x38200400:  # LDRAA, LDRAB
        return (low, base)
    if word & 0x3A000000 == 0x38000000:
        is_atomic, is_prefetch = word & 0x3B200C00 == 0x38200000, word >> 30 == 3 and options == 2
        if not vector and (is_atomic or (options and not is_prefetch)):
            registers = (low,)
        return (*registers, base) if word & 0x3B200400 == 0x38000400 else registers
    if word & 0xBE000000 == 0x0C000000:  # LD1 to ST4
        return (base,) if word >> 23 & 1 else ()
    return () if vector else (low, base)
