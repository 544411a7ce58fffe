"""Reads fields of riscv64 instructions: those of 32 bits, and compressed ones of 16.

Source: RISC-V, The RISC-V Instruction Set Manual, volume I, "RV32/64G Instruction Set Listings" and "C".
"""

from __future__ import annotations

from typing import NamedTuple

from ..addresses import MASK, Access, signed

LINKS = (1, 5)  # the registers for return addresses
GP = 3  # the global pointer: an address amid the data of a program
# Opcodes whose instructions all write a general register: loads, AMO, AUIPC, LUI, JALR, JAL, and
# operations on immediates and on registers.
WRITING = frozenset({0x03, 0x13, 0x17, 0x1B, 0x2F, 0x33, 0x37, 0x3B, 0x67, 0x6F})
AUIPC, LUI, JAL, FLOAT, VECTOR, SYSTEM = 0x17, 0x37, 0x6F, 0x53, 0x57, 0x73


def is_compressed(word: int) -> bool:
    """Return whether an instruction has 16 bits."""
    return word & 3 != 3


def opcode(word: int) -> int:
    """Return the opcode, an odd number; for a compressed instruction, its quadrant and function as an even number."""
    return word & 127 if not is_compressed(word) else (word & 3) << 4 | word >> 13 << 1


SETS = 7  # bits 12 to 14 of VSETVLI, VSETIVLI and VSETVL
C_ADDI4SPN, C_LW, C_LD, C_ZCB = 0x00, 0x04, 0x06, 0x08
C_SW, C_SD = 0x0C, 0x0E
C_ADDI, C_ADDIW, C_LI, C_LUI, C_ALU, C_J, C_BEQZ, C_BNEZ = 0x10, 0x12, 0x14, 0x16, 0x18, 0x1A, 0x1C, 0x1E
C_SLLI, C_LWSP, C_LDSP, C_JUMPS = 0x20, 0x24, 0x26, 0x28


def destination(word: int) -> int:
    """Return the register in the field of the destination, which most instructions have."""
    return word >> 7 & 31


def small(field: int) -> int:
    """Return the number of the register in a field of three bits."""
    return 8 + (field & 7)


def bits(word: int, *fields: tuple[int, int, int]) -> int:
    """Return a number whose parts are `fields` of a word: (lowest bit in the word, width, lowest bit in the number)."""
    return sum((word >> low & (1 << width) - 1) << place for low, width, place in fields)


def branch_target(word: int, address: int) -> int | None:
    """Return the target of a direct branch or call; None for other instructions."""
    code = opcode(word)
    if code == 0x63:
        offset = signed(bits(word, (8, 4, 1), (25, 6, 5), (7, 1, 11), (31, 1, 12)), 13)
    elif code == JAL:
        offset = signed(bits(word, (21, 10, 1), (20, 1, 11), (12, 8, 12), (31, 1, 20)), 21)
    elif code == C_J:
        parts = (3, 3, 1), (11, 1, 4), (2, 1, 5), (7, 1, 6), (6, 1, 7), (9, 2, 8), (8, 1, 10), (12, 1, 11)
        offset = signed(bits(word, *parts), 12)
    elif code in (C_BEQZ, C_BNEZ):
        offset = signed(bits(word, (3, 2, 1), (10, 2, 3), (2, 1, 5), (5, 2, 6), (12, 1, 8)), 9)
    else:
        return None
    return address + offset & MASK


class Through(NamedTuple):
    """A branch to the sum of a register and an offset; `link` is the register that gets the return address."""

    register: int
    offset: int
    link: int


def through(word: int) -> Through | None:
    """Return the fields of a branch through a register; None for other instructions."""
    if word & 0x707F == 0x67:
        return Through(word >> 15 & 31, signed(word >> 20, 12), destination(word))
    if word & 0xE07F == 0x8002 and destination(word):
        return Through(destination(word), 0, word >> 12 & 1)
    return None


def is_call(word: int) -> bool:
    """Return whether an instruction is a call: JAL, JALR or C.JALR that writes a register for return addresses."""
    if word & 127 == JAL:
        return destination(word) in LINKS
    found = through(word)
    return found is not None and found.link in LINKS


def added(word: int) -> tuple[int, int, int] | None:
    """Return (to, from, number) of ADDI, C.ADDI, and C.MV (where number is 0); None for others."""
    code = opcode(word)
    if word & 0x707F == 0x13:
        return destination(word), word >> 15 & 31, signed(word >> 20, 12)
    if code == C_ADDI:
        return destination(word), destination(word), signed(bits(word, (2, 5, 0), (12, 1, 5)), 6)
    if word & 0xF003 == 0x8002 and word >> 2 & 31:  # C.MV
        return destination(word), word >> 2 & 31, 0
    return None


def element_bits(word: int) -> int:
    """Return the width of elements, in bits, that VSETVLI or VSETIVLI sets; 0 for VSETVL, which reads a register."""
    return 8 << (word >> 23 & 7) if word >> 30 != 2 else 0


def upper(word: int) -> int | None:
    """Return the number that LUI, C.LUI or AUIPC contains; None for other instructions."""
    code = opcode(word)
    if code in (AUIPC, LUI):
        return signed(word >> 12, 20) << 12
    if code == C_LUI and destination(word) not in (0, 2):
        return signed(bits(word, (2, 5, 0), (12, 1, 5)), 6) << 12
    return None


def access(word: int) -> Access | None:
    """Return the access of a scalar load or store; None for others, and for compressed ones at the stack pointer."""
    code, base = opcode(word), word >> 15 & 31
    if code in (0x07, 0x27) and word >> 12 & 7 not in (1, 2, 3, 4):
        return None  # of a vector
    if code in (0x03, 0x07):
        return Access(base, signed(word >> 20, 12), 1 << (word >> 12 & 3), True, code == 0x03)
    if code in (0x23, 0x27):
        return Access(base, signed(bits(word, (7, 5, 0), (25, 7, 5)), 12), 1 << (word >> 12 & 3), False, code == 0x23)
    if code == 0x2F:
        return Access(base, 0, 1 << (word >> 12 & 3), word >> 27 == 2, True)  # only LR does not store
    if code in (C_LW, C_SW):
        return Access(small(word >> 7), bits(word, (6, 1, 2), (10, 3, 3), (5, 1, 6)), 4, code == C_LW, True)
    if code in (C_LD, C_SD, 0x02, 0x0A):  # 0x02 and 0x0A load and store floating-point numbers
        offset = bits(word, (10, 3, 3), (5, 2, 6))
        return Access(small(word >> 7), offset, 8, code in (C_LD, 0x02), code in (C_LD, C_SD))
    if code == C_ZCB and word >> 10 & 7 < 4:
        is_byte = not word >> 10 & 1
        offset = bits(word, (6, 1, 0), (5, 1, 1)) if is_byte else bits(word, (5, 1, 1))
        return Access(small(word >> 7), offset, 1 if is_byte else 2, not word >> 11 & 1, True)
    return None


def written(word: int) -> tuple[int, ...]:
    """Return the general registers that an instruction other than a call writes, without x0, which is always 0."""
    register = _compressed_writes(word) if is_compressed(word) else destination(word) if _writes(word) else 0
    return (register,) if register else ()


def _compressed_writes(word: int) -> int:
    code = opcode(word)
    if code in (C_ADDI4SPN, C_LW, C_LD) or (code == C_ZCB and not word >> 11 & 3):
        return small(word >> 2)
    if code == C_ALU:
        return small(word >> 7)
    is_move = code == C_JUMPS and word >> 2 & 31
    is_other = code in (C_ADDI, C_ADDIW, C_LI, C_LUI, C_SLLI, C_LWSP, C_LDSP)
    return destination(word) if is_move or is_other else 0


def _writes(word: int) -> bool:
    code, function = opcode(word), word >> 12 & 7
    if code == FLOAT:
        return word >> 27 in (0x14, 0x18, 0x1C)  # comparisons, conversions, FMV and FCLASS
    if code == VECTOR:
        return function == SETS or (function == 2 and word >> 26 == 0x10)  # VSETVL; VMV.X.S, VCPOP and VFIRST
    return code in WRITING or (code == SYSTEM and function & 3 != 0)
