"""Numbers and structures of COFF objects (Microsoft, "PE Format").

Objects with more than 65,279 sections have a larger header and symbol (`-mbig-obj`, `/bigobj`).
"""

from __future__ import annotations

from base64 import urlsafe_b64encode
from hashlib import blake2b
from struct import Struct

from ..protocol import Architecture

# The machines whose objects are read.
AMD64, ARM64 = 0x8664, 0xAA64
MACHINES = {AMD64: "x86-64", ARM64: "AArch64"}

HEADER = Struct("<HHIIIHH")  # machine, sections, time, symbol table, symbols, size of the optional header, flags
# Two signatures, version, machine, time, class, size of data, flags, size and place of metadata, sections, symbol
# table, symbols.
BIG_HEADER = Struct("<HHHHI16sIIIIIII")
BIG_START = b"\0\0\xff\xff"
BIG_CLASS = bytes.fromhex("c7a1bad1eebaa94baf20faf66aa4dcb8")
SECTION = Struct("<8sIIIIIIHHI")  # name, two fields of images, size, data, relocations, lines, their counts, flags
SYMBOL, BIG_SYMBOL = Struct("<8sIhHBB"), Struct("<8sIiHBB")  # name, value, section, type, class, auxiliary records
RELOCATION = Struct("<IIH")  # address, symbol, type
AUXILIARY_SECTION = Struct("<IHHIHB")  # size, relocations, lines, checksum, associated section, selection
AUXILIARY_WEAK = Struct("<II")  # the default symbol, and how the linker searches for a definition

SCN_CNT_UNINITIALIZED_DATA, SCN_LNK_INFO, SCN_LNK_REMOVE, SCN_LNK_COMDAT = 0x80, 0x200, 0x800, 0x1000
SCN_ALIGN_MASK, SCN_LNK_NRELOC_OVFL, SCN_MEM_DISCARDABLE = 0xF00000, 0x1000000, 0x2000000
SCN_MEM_EXECUTE, SCN_MEM_WRITE = 0x20000000, 0x80000000
SELECT_NODUPLICATES, SELECT_ASSOCIATIVE = 1, 5
ABSOLUTE = -1  # in place of a section: the value of the symbol is a number
TYPE_FUNCTION = 0x20
CLASS_EXTERNAL, CLASS_STATIC, CLASS_FILE, CLASS_WEAK = 2, 3, 103, 105

# Types of relocations, by machine: absolute ones of 64 bits, and relative ones with the distance from the relocated
# place to the address from which they count. x86-64 has REL32_1 to REL32_5 for operands with bytes after them.
ADDR64 = {AMD64: 1, ARM64: 14}
REL32 = {AMD64: {4 + more: 4 + more for more in range(6)}, ARM64: {17: 4}}


def is_object(head: bytes) -> bool:
    """Return whether a file with these first bytes is an object for a processor of `MACHINES`."""
    if head.startswith(BIG_START):
        return head[12:28] == BIG_CLASS and int.from_bytes(head[6:8], "little") in MACHINES
    return len(head) >= HEADER.size and int.from_bytes(head[:2], "little") in MACHINES and head[16:18] == b"\0\0"


def architecture_of(head: bytes) -> Architecture | None:
    """Return the architecture that the first bytes of an object name."""
    place = 6 if head.startswith(BIG_START) else 0
    machine = int.from_bytes(head[place : place + 2], "little")
    return Architecture("coff", machine, 64, "little", MACHINES.get(machine, f"machine {machine:#x}"))


def code_section(level: str) -> str:
    """Return the name of the sections that contain a sealed level's code.

    In linked files, a section's name has at most eight characters, so four of them are a digest of the level's name.
    """
    return f".isa{urlsafe_b64encode(blake2b(level.encode(), digest_size=3).digest()).decode()}"
