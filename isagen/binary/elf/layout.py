"""The numbers and structures of ELF, for both word sizes and byte orders.

System V gABI, chapters 4 and 5, and the GNU and Android extensions.
"""

from __future__ import annotations

from struct import Struct
from typing import Literal

from ..contents import Architecture

MAGIC = b"\x7fELF"
ET_REL, ET_EXEC = 1, 2
SHT_NULL, SHT_PROGBITS, SHT_SYMTAB, SHT_STRTAB, SHT_RELA = range(5)
SHT_DYNAMIC, SHT_NOTE, SHT_NOBITS, SHT_DYNSYM = 6, 7, 8, 11
SHT_REL, SHT_CREL, SHT_ANDROID_REL, SHT_ANDROID_RELA = 9, 0x40000014, 0x60000001, 0x60000002
SHT_INIT_ARRAY, SHT_FINI_ARRAY, SHT_PREINIT_ARRAY, SHT_GROUP, SHT_SYMTAB_SHNDX, SHT_RELR = 14, 15, 16, 17, 18, 19
SHF_WRITE, SHF_ALLOC, SHF_EXECINSTR, SHF_GROUP, SHF_TLS, SHF_GNU_RETAIN = 1, 2, 4, 0x200, 0x400, 0x200000
SHN_UNDEF, SHN_LORESERVE, SHN_COMMON, SHN_XINDEX = 0, 0xFF00, 0xFFF2, 0xFFFF
STB_WEAK, STB_UNIQUE = 2, 10
STV_DEFAULT, STV_INTERNAL, STV_HIDDEN, STV_PROTECTED = range(4)
GRP_COMDAT = 1
UNREAD_RELOCATIONS = frozenset({SHT_CREL, SHT_ANDROID_RELA, SHT_ANDROID_REL})
PACKED = b"APS2"  # the start of Android's packed relocations, even where GNU strip changed the section's type


class Layout:
    """The structures of files of one word size (`wide`: 64 bits) and byte order (struct's ``<`` or ``>``).

    The fields of a section header are in the same order for both word sizes: name, type, flags, address, offset, size,
    link, info, alignment, entry size. The order of a symbol's fields depends on the word size (`reader.Elf`).
    """

    def __init__(self, order: str, wide: bool) -> None:
        self.order = order
        self.wide = wide
        self.byteorder: Literal["little", "big"] = "little" if order == "<" else "big"
        self.word = 8 if wide else 4  # bytes of a pointer
        self.symbol_shift = 32 if wide else 8  # bits of the type in r_info; the symbol's number is in the bits above
        self.header = Struct(order + ("16sHHIQQQIHHHHHH" if wide else "16sHHIIIIIHHHHHH"))
        self.section = Struct(order + ("IIQQQQIIQQ" if wide else "IIIIIIIIII"))
        self.symbol = Struct(order + ("IBBHQQ" if wide else "IIIBBH"))
        self.dynamic = Struct(order + ("QQ" if wide else "II"))  # tag and value
        self.relocation = Struct(order + ("QQ" if wide else "II"))
        self.relocation_with_addend = Struct(order + ("QQq" if wide else "IIi"))


def layout_of(identification: bytes) -> Layout | None:
    """Return the layout of an ELF file with these first bytes; None if they are another format's or name no layout."""
    if len(identification) < 6 or identification[:4] != MAGIC:
        return None
    if identification[4] not in (1, 2) or identification[5] not in (1, 2):
        return None
    return Layout("<" if identification[5] == 1 else ">", identification[4] == 2)


# ---- the processor that the code of a file is for

HEAD = 20  # bytes up to the end of e_machine
# Values of e_machine (System V gABI).
EM_NONE, EM_MIPS = 0, 8
MACHINES = {
    3: "x86",
    20: "PowerPC",
    21: "64-bit PowerPC",
    22: "S390",
    40: "Arm",
    62: "x86-64",
    183: "AArch64",
    243: "RISC-V",
    258: "LoongArch",
}
# Machines without a big-endian mode: if a 64-bit file for one of them is big-endian all the same, messages say so.
LITTLE_ENDIAN = frozenset({3, 62})


def architecture_of(head: bytes) -> Architecture | None:
    """Return the architecture in the first bytes of a file; None if they name no processor, or are not ELF's."""
    layout = layout_of(head)
    if layout is None or len(head) < HEAD:
        return None
    machine = int.from_bytes(head[18:20], layout.byteorder)
    if machine == EM_NONE:
        return None
    name = MACHINES.get(machine, f"machine {machine}")
    if not layout.wide:
        name += " (32-bit)"
    elif layout.byteorder == "big" and machine in LITTLE_ENDIAN:
        name += " (big-endian)"
    return Architecture("elf", machine, 64 if layout.wide else 32, layout.byteorder, name)
