"""Numbers and structures of ELF, for files of either word size and byte order.

System V gABI, chapters 4 and 5; the GNU and Android extensions where they add to it.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from functools import cache
from typing import Literal

from ..protocol import Architecture

MAGIC = b"\x7fELF"
ET_REL, ET_EXEC = 1, 2
SHT_NULL, SHT_PROGBITS, SHT_SYMTAB, SHT_STRTAB, SHT_RELA = range(5)
SHT_DYNAMIC, SHT_NOTE, SHT_NOBITS, SHT_DYNSYM = 6, 7, 8, 11
SHT_REL, SHT_CREL, SHT_ANDROID_REL, SHT_ANDROID_RELA = 9, 0x40000014, 0x60000001, 0x60000002
SHT_INIT_ARRAY, SHT_FINI_ARRAY, SHT_PREINIT_ARRAY, SHT_GROUP, SHT_SYMTAB_SHNDX, SHT_RELR = 14, 15, 16, 17, 18, 19
SHF_WRITE, SHF_ALLOC, SHF_EXECINSTR, SHF_INFO_LINK, SHF_GROUP = 1, 2, 4, 0x40, 0x200
SHF_TLS, SHF_COMPRESSED = 0x400, 0x800
SHN_UNDEF, SHN_LORESERVE, SHN_COMMON, SHN_XINDEX = 0, 0xFF00, 0xFFF2, 0xFFFF
STB_GLOBAL, STB_WEAK, STB_UNIQUE = 1, 2, 10
STT_NOTYPE, STT_OBJECT, STT_SECTION = 0, 1, 3
STV_DEFAULT, STV_INTERNAL, STV_HIDDEN, STV_PROTECTED = range(4)
GRP_COMDAT = 1
RELOCATION_SECTIONS = frozenset({SHT_RELA, SHT_REL, SHT_ANDROID_RELA, SHT_ANDROID_REL})


@dataclass(frozen=True)
class Layout:
    """The structures of files of one word size (`wide`: 64 bits) and byte order (struct's ``<`` or ``>``).

    The fields of a section header come in one order in both sizes: name, type, flags, address, offset, size, link,
    info, alignment, entry size. Those of a symbol come in two: `reader.Elf` knows both.
    """

    order: str
    wide: bool

    @property
    def header(self) -> struct.Struct:
        """The file's header."""
        return _struct(self.order + ("16sHHIQQQIHHHHHH" if self.wide else "16sHHIIIIIHHHHHH"))

    @property
    def section(self) -> struct.Struct:
        """A section header."""
        return _struct(self.order + ("IIQQQQIIQQ" if self.wide else "IIIIIIIIII"))

    @property
    def symbol(self) -> struct.Struct:
        """An entry of a symbol table."""
        return _struct(self.order + ("IBBHQQ" if self.wide else "IIIBBH"))

    def relocation(self, addend: bool) -> struct.Struct:
        """A relocation with or without an addend of its own."""
        plain, with_addend = ("QQ", "QQq") if self.wide else ("II", "IIi")
        return _struct(self.order + (with_addend if addend else plain))

    @property
    def symbol_shift(self) -> int:
        """How far left the symbol stands in a relocation's info."""
        return 32 if self.wide else 8

    @property
    def dynamic(self) -> struct.Struct:
        """An entry of .dynamic: tag and value."""
        return _struct(self.order + ("QQ" if self.wide else "II"))

    @property
    def word(self) -> int:
        """The size of a pointer in bytes."""
        return 8 if self.wide else 4

    @property
    def highest(self) -> int:
        """The highest address."""
        return (1 << 8 * self.word) - 1

    @property
    def byteorder(self) -> Literal["little", "big"]:
        """The byte order, by its name in Python."""
        return "little" if self.order == "<" else "big"


@cache
def _struct(text: str) -> struct.Struct:
    return struct.Struct(text)


def layout_of(identification: bytes) -> Layout | None:
    """Return the layout that a file's first bytes name; None where they are not those of an ELF file."""
    if len(identification) < 6 or identification[:4] != MAGIC:
        return None
    if identification[4] not in (1, 2) or identification[5] not in (1, 2):
        return None
    return Layout("<" if identification[5] == 1 else ">", identification[4] == 2)


# ---- the processor that the code of a file is for

HEAD = 20  # bytes up to the end of e_machine
# Values of e_machine (System V gABI).
EM_NONE = 0
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
LITTLE_ENDIAN = frozenset({3, 62})  # machines without a big-endian mode: messages mention the byte order of such files


def architecture_of(head: bytes) -> Architecture | None:
    """Return the architecture that a file's first bytes name; None where they name none."""
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
