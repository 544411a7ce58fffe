"""Small ELF objects made by hand, of any word size and byte order."""

import struct
from dataclasses import dataclass

SYMTAB, STRTAB, RELA, NOTE, SHNDX, CREL, ANDROID = 2, 3, 4, 7, 18, 0x40000014, 0x60000002
LIBRARY = 3
ALLOC, CODE = 2, 6
WEAK_FUNCTION = 2 << 4 | 2


@dataclass(frozen=True)
class Part:
    """A section; `entry` is the size of an entry."""

    name: bytes
    kind: int = 1
    content: bytes = b""
    flags: int = 0
    link: int = 0
    info: int = 0
    entry: int = 0


def symbol(order: str, wide: bool, name: int, info: int, section: int, size: int = 1) -> bytes:
    """An entry of a symbol table, at the start of its section."""
    if wide:
        return struct.pack(order + "IBBHQQ", name, info, 0, section, 0, size)
    return struct.pack(order + "IIIBBH", name, 0, size, info, 0, section)


def elf_object(parts: list[Part], machine: int = 62, order: str = "<", wide: bool = True, kind: int = 1) -> bytes:
    """An object of these sections, after the one that is none; the last one holds their names."""
    parts = [Part(b""), *parts, Part(b".shstrtab", STRTAB)]
    names = b"\0" + b"".join(part.name + b"\0" for part in parts[1:])
    parts[-1] = Part(b".shstrtab", STRTAB, names)
    header = struct.Struct(order + ("16sHHIQQQIHHHHHH" if wide else "16sHHIIIIIHHHHHH"))
    section = struct.Struct(order + ("IIQQQQIIQQ" if wide else "IIIIIIIIII"))
    body, headers = b"", b""
    for number, part in enumerate(parts):
        if number == 0:
            headers += bytes(section.size)
            continue
        place = names.index(b"\0" + part.name + b"\0") + 1
        offset = header.size + len(body)
        headers += section.pack(
            place, part.kind, part.flags, 0, offset, len(part.content), part.link, part.info, 1, part.entry
        )
        body += part.content + b"\0" * (-len(part.content) % 8)
    start = b"\x7fELF" + bytes([2 if wide else 1, 1 if order == "<" else 2, 1]) + bytes(9)
    at = header.size + len(body)
    head = header.pack(
        start, kind, machine, 1, 0, 0, at, 0, header.size, 0, 0, section.size, len(parts), len(parts) - 1
    )
    return head + body + headers


def with_function(name: bytes, order: str = "<", wide: bool = True, code: bytes = b"\xc3", machine: int = 62) -> bytes:
    """An object with one weak function of `code` called `name`."""
    none = symbol(order, wide, 0, 0, 0, 0)
    table = none + symbol(order, wide, 1, WEAK_FUNCTION, 1, len(code))
    return elf_object(
        [
            Part(b".text", 1, code, CODE),
            Part(b".symtab", SYMTAB, table, link=3, info=1, entry=len(none)),
            Part(b".strtab", STRTAB, b"\0" + name + b"\0"),
        ],
        machine,
        order,
        wide,
    )
