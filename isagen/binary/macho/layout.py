"""The numbers and structures of Mach-O files (Apple's <mach-o/loader.h>, <nlist.h>, <reloc.h>, <x86_64/reloc.h>)."""

from __future__ import annotations

from struct import Struct

from ..contents import Architecture

MAGIC = b"\xcf\xfa\xed\xfe"  # of files with 64 bits, little-endian: isagen reads no others
X86_64, ARM64 = 0x01000007, 0x0100000C
MACHINES = {X86_64: "x86-64", ARM64: "AArch64"}
OBJECT, PROGRAM, LIBRARY, BUNDLE = 1, 2, 6, 8
LINKED = (PROGRAM, LIBRARY, BUNDLE)

HEADER = Struct("<4sIIIIIII")  # magic, processor, its subtype, type, commands, their size, flags, reserved
COMMAND = Struct("<II")  # number, size
SEGMENT_64, SYMTAB = 0x19, 2
# The commands that name the oldest system that can load the file: LC_BUILD_VERSION, and the older LC_VERSION_MIN_...
VERSIONS = {0x32, 0x24, 0x25, 0x2F, 0x30}
# Command, name, address, size, file offset, file size, two protections, sections, flags.
SEGMENT = Struct("<II16sQQQQiiII")
# Name, segment, address, size, offset, alignment, relocations, their count, flags, three reserved.
SECTION = Struct("<16s16sQQIIIIIIII")
SYMBOL_TABLE = Struct("<IIIIII")  # command, symbols, their count, names, the names' size
SYMBOL = Struct("<IBBHQ")  # name, type, section, description, value
RELOCATION = Struct("<iI")  # address; bit fields: symbol (24), relative (1), length (2), external (1), type (4)

# In linked files: commands that give the place of data, and the structures of the commands and of the data.
DYLD_INFO, CHAINED_FIXUPS = {0x22, 0x80000022}, 0x80000034
FUNCTION_STARTS, DATA_IN_CODE = 0x26, 0x29
LINK_DATA = Struct("<IIII")  # command, its size, offset, size
LOADER_DATA = Struct("<IIIIIIIIIIII")  # command, its size; offset and size of rebases, binds, weak, lazy, exports
DATA_ENTRY = Struct("<IHH")  # offset, length, kind
CHAINS = Struct("<IIIIIII")  # version, offsets of starts, imports and names, imports' count and format, names' format
CHAIN_STARTS = Struct("<IHHQIH")  # size, page size, format of pointers, segment's offset, highest pointer, pages
PIE = 0x200000  # in the header's flags: the loader chooses the addresses
ARM64E = 2  # the subtype of arm64 whose pointers are signed

SECTION_TYPE = 0xFF  # in a section's flags
ZERO_FILLED = {1, 0xC, 0x12}  # S_ZEROFILL, S_GB_ZEROFILL, S_THREAD_LOCAL_ZEROFILL
THREAD_LOCAL_VARIABLES = 0x13  # S_THREAD_LOCAL_VARIABLES: descriptors
# S_MOD_INIT_FUNC_POINTERS, S_THREAD_LOCAL_INIT_FUNCTION_POINTERS, S_INIT_FUNC_OFFSETS; S_MOD_TERM_FUNC_POINTERS.
CALLED = {9: "when loaded", 0x15: "when loaded", 0x16: "when loaded", 0xA: "at exit"}
INIT_OFFSETS = 0x16
# S_NON_LAZY_SYMBOL_POINTERS, S_LAZY_SYMBOL_POINTERS, S_LAZY_DYLIB_SYMBOL_POINTERS, S_THREAD_LOCAL_VARIABLE_POINTERS.
POINTERS = {6, 7, 0x10, 0x14}
SYMBOL_STUBS, STUB_HELPER = 8, "__stub_helper"  # a type and a name of sections with jumps through POINTERS
ATTR_PURE_INSTRUCTIONS, ATTR_SOME_INSTRUCTIONS = 0x80000000, 0x400

N_STAB, N_PEXT, N_TYPE, N_EXT = 0xE0, 0x10, 0x0E, 0x01  # in a symbol's type
N_UNDF, N_ABS, N_SECT = 0, 2, 0xE
N_WEAK_REF, N_WEAK_DEF = 0x40, 0x80  # in a symbol's description: of an undefined symbol, and of a defined one

# Types of relocations. A SUBTRACTOR and the relocation after it write one distance together. An ADDEND contains the
# addend of the relocation after it.
SUBTRACTOR = {X86_64: 5, ARM64: 1}
ADDEND = {ARM64: 10}
# The types that write a distance which counts from the end of a 32-bit place; for x86-64, SIGNED, BRANCH, GOT_LOAD,
# GOT, SIGNED_1, SIGNED_2, SIGNED_4 and TLV.
FROM_END = {X86_64: {1, 2, 3, 4, 6, 7, 8, 9}, ARM64: set[int]()}


def is_macho(head: bytes, kinds: tuple[int, ...]) -> bool:
    """Return whether a file with these first bytes is of one of the `kinds`, for a processor of `MACHINES`."""
    if len(head) < HEADER.size:
        return False
    magic, machine, _, kind, *_ = HEADER.unpack_from(head)
    return magic == MAGIC and machine in MACHINES and kind in kinds


def architecture_of(head: bytes) -> Architecture | None:
    """Return the architecture in the first bytes of a file."""
    machine = int.from_bytes(head[4:8], "little")
    return Architecture("macho", machine, 64, "little", MACHINES.get(machine, f"machine {machine:#x}"))
