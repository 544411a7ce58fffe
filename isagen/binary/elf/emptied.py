"""An ELF object without code and data, in the place of one that a link can do without."""

from __future__ import annotations

from .objects import ElfObject

# What an object says of itself to the linker, which goes by what all objects say: a stack without code, branch
# protection, the ABI of the processor.
STATEMENTS = (".note.GNU-stack", ".note.gnu.property")
# SHT_ARM_ATTRIBUTES, SHT_RISCV_ATTRIBUTES and others of one number; SHT_MIPS_ABIFLAGS; SHT_GNU_ATTRIBUTES.
ATTRIBUTES = frozenset({0x70000003, 0x7000002A, 0x6FFFFFF5})
NAMES = ".shstrtab"
SHT_STRTAB = 3


def emptied(file: ElfObject) -> bytes:
    """Return an object for the same processor and ABI that defines nothing and refers to nothing."""
    layout, elf = file.elf.layout, file.elf
    kept = [s for s in file.sections if s.name in STATEMENTS or s.type in ATTRIBUTES]
    names = b"\0" + b"".join(section.name.encode() + b"\0" for section in kept) + NAMES.encode() + b"\0"
    data = bytearray(file.data[: layout.header.size])
    headers = [(0,) * 10]
    place = 1
    for section in kept:
        alignment = max(section.alignment, 1)
        data += b"\0" * (-len(data) % alignment)
        headers.append((place, section.type, section.flags, 0, len(data), section.size, 0, 0, alignment, 0))
        data += elf.content(section)
        place += len(section.name.encode()) + 1
    headers.append((place, SHT_STRTAB, 0, 0, len(data), len(names), 0, 0, 1, 0))
    data += names
    data += b"\0" * (-len(data) % layout.word)
    fields = list(layout.header.unpack_from(data))
    # e_phoff, e_shoff; then e_phnum, e_shnum and e_shstrndx at the end
    fields[5:7] = 0, len(data)
    fields[-4], fields[-2:] = 0, (len(headers), len(headers) - 1)
    layout.header.pack_into(data, 0, *fields)
    return bytes(data) + b"".join(layout.section.pack(*header) for header in headers)
