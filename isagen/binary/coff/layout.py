"""The numbers and structures of COFF objects and PE files (Microsoft, "PE Format").

Objects that may have more than 65,279 sections (`-mbig-obj`, `/bigobj`) have a larger header and larger symbols.
"""

from __future__ import annotations

from base64 import urlsafe_b64encode
from hashlib import blake2b
from struct import Struct

from ..contents import Architecture

AMD64, ARM64 = 0x8664, 0xAA64
MACHINES = {AMD64: "x86-64", ARM64: "AArch64 in COFF objects"}  # those whose objects isagen reads

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
ABSOLUTE = -1  # the section of a symbol whose value is a number and not an address
TYPE_FUNCTION = 0x20
CLASS_EXTERNAL, CLASS_STATIC, CLASS_FILE, CLASS_WEAK = 2, 3, 103, 105

# Relocation types, by machine: the absolute type of 64 bits; and the relative types, each with a number of bytes. The
# written value counts from the address so many bytes after the relocated place. REL32_1 to REL32_5 are for operands
# that are followed by one to five bytes of the instruction.
ADDR64 = {AMD64: 1, ARM64: 14}
REL32 = {AMD64: {4 + more: 4 + more for more in range(6)}, ARM64: {17: 4}}

HALF, WORD, POINTER = Struct("<H"), Struct("<I"), Struct("<Q")
# Linked files (PE) start with a program for DOS, which contains the offset of the signature.
IMAGE_MAGIC, SIGNATURE_AT, SIGNATURE = b"MZ", 60, b"PE\0\0"
IMAGE_MACHINES = {AMD64: "x86-64", ARM64: "AArch64", 0x14C: "x86 (32-bit)", 0x1C4: "Arm (32-bit)"}
FILE_RELOCS_STRIPPED, FILE_DLL = 0x0001, 0x2000
# By the optional header's magic number: the offset and size of the image base in this header, and the offset of the
# data directories.
OPTIONAL = {0x10B: (28, 4, 96), 0x20B: (24, 8, 112)}
ENTRY_AT = 16  # the offset of the entry point's address in the optional header
DIRECTORY = Struct("<II")  # RVA and size of a table; the TLS table contains addresses, the others contain RVAs
EXPORTS, IMPORTS, EXCEPTIONS, BASE_RELOCATIONS, TLS = 0, 1, 3, 5, 9
# Flags, time, version, name, first ordinal; numbers of addresses and names; tables of addresses, names and ordinals.
EXPORT_DIRECTORY = Struct("<IIIIIIIIII")
IMPORT_DIRECTORY = Struct("<IIIII")  # names, time, forwarders, name of the DLL, slots
BY_ORDINAL = 1 << 63
TLS_CALLBACKS_AT = 24  # the offset in the TLS directory of the address of the array of callbacks
BASE_RELOCATION_BLOCK = Struct("<II")  # RVA of a page, size of the block
DIR64 = 10
UNWIND_ENTRY = {AMD64: Struct("<III"), ARM64: Struct("<II")}  # start, end (x86-64 only), unwind information
UNWIND_CHAINED = 4


def is_object(head: bytes) -> bool:
    """Return whether a file with these first bytes is an object for a processor of `MACHINES`."""
    if head.startswith(BIG_START):
        return head[12:28] == BIG_CLASS and int.from_bytes(head[6:8], "little") in MACHINES
    return len(head) >= HEADER.size and int.from_bytes(head[:2], "little") in MACHINES and head[16:18] == b"\0\0"


def is_image(head: bytes) -> bool:
    """Return whether a file with these first bytes is a PE file."""
    place = int.from_bytes(head[SIGNATURE_AT : SIGNATURE_AT + 4], "little")
    return head.startswith(IMAGE_MAGIC) and head[place : place + 4] == SIGNATURE


def architecture_of(head: bytes) -> Architecture:
    """Return the architecture in the first bytes of an object or a PE file."""
    format, names, place = "coff", MACHINES, 6 if head.startswith(BIG_START) else 0
    if is_image(head):
        format, names = "pe", IMAGE_MACHINES
        place = int.from_bytes(head[SIGNATURE_AT : SIGNATURE_AT + 4], "little") + len(SIGNATURE)
    machine = int.from_bytes(head[place : place + 2], "little")
    shown = names.get(machine, f"machine {machine:#x}")
    return Architecture(format, machine, 64 if machine in MACHINES else 32, "little", shown)


def code_section(level: str) -> str:
    """Return the name of the sections that contain a sealed level's code.

    In a linked file, the name of a section has at most eight characters. So it contains a digest of the level's name.
    """
    return f".isa{urlsafe_b64encode(blake2b(level.encode(), digest_size=3).digest()).decode()}"
