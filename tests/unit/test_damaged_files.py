"""Files whose parts overlap, or share a name: sealing would change code, or reading would take too long."""

import struct

import pytest

from isagen.audit.targets import audit_each
from isagen.binary.coff.sealing import CoffObject
from isagen.binary.macho.sealing import MachoObject
from isagen.model.errors import BuildError

CODE = b"\x90" * 64


def coff(count: int, offset: int = 0) -> bytes:
    """An object with sections of code, whose offsets can be chosen."""
    after = 20 + 40 * count + len(CODE) * count
    sections = b"".join(
        struct.pack("<8s6I2HI", b".text", 0, 0, 64, offset or after - 64 * (number + 1), 0, 0, 0, 0, 0x60500020)
        for number in range(count)
    )
    symbol = struct.pack("<8sIhHBB", b"x", 0, 1, 0x20, 2, 0)
    header = struct.pack("<HHIIIHH", 0x8664, count, 0, after, 1, 0, 0)
    return header + sections + CODE * count + symbol + struct.pack("<I", 4)


def macho(count: int, offset: int = 0, symbols: int = 0) -> bytes:
    """The same in the other format."""
    size = 72 + 80 * count
    after = 32 + size + 24 + len(CODE) * count
    segment = struct.pack("<II16s4Q4I", 0x19, size, b"", 0, 64 * count, 32 + size + 24, 64 * count, 7, 7, count, 0)
    sections = b"".join(
        struct.pack(
            *("<16s16sQQ8I", b"__text", b"__TEXT", 64 * number, 64, offset or after - 64 * (number + 1)),
            *(0, 0, 0, 0x80000400, 0, 0, 0),
        )
        for number in range(count)
    )
    table = struct.pack("<6I", 2, 24, symbols or after, 1, after + 16, 4)
    header = struct.pack("<4s7I", b"\xcf\xfa\xed\xfe", 0x01000007, 3, 1, 2, size + 24, 0, 0)
    return header + segment + sections + table + CODE * count + struct.pack("<IBBHQ", 1, 0xF, 1, 0, 0) + b"\0_x\0"


@pytest.mark.parametrize("count", [1, 3])
def test_parts_that_do_not_overlap(count):
    assert [symbol.name for symbol in CoffObject(coff(count), "k.o").symbols] == ["x"]
    assert [symbol.name for symbol in MachoObject(macho(count), "k.o").symbols] == ["x"]


@pytest.mark.parametrize(
    ("kind", "content"),
    [
        (CoffObject, coff(2, offset=100)),
        (CoffObject, coff(1, offset=4)),
        (CoffObject, coff(1, offset=70)),
        (MachoObject, macho(2, offset=300)),
        (MachoObject, macho(1, offset=4)),
        (MachoObject, macho(1, offset=220)),
        (MachoObject, macho(1, symbols=40)),
    ],
)
def test_overlapping_parts_of_objects(kind, content):
    with pytest.raises(BuildError, match=r"^k.o: .*: parts of it overlap\n"):
        kind(content, "k.o")


def test_relocations_that_sections_share():
    data = bytearray(coff(2))
    for place in (20, 60):
        struct.pack_into("<I", data, place + 24, len(data) - 30)
        struct.pack_into("<H", data, place + 32, 1)
    with pytest.raises(BuildError, match="parts of it overlap"):
        CoffObject(bytes(data), "k.o")


def test_an_object_without_symbols():
    """The new names of its sections would not be found."""
    data = bytearray(coff(1))
    struct.pack_into("<II", data, 8, 0, 0)
    with pytest.raises(BuildError, match="it has no table of symbols"):
        CoffObject(bytes(data), "k.o")


def test_a_section_as_large_as_addresses():
    """It has no content in the file; its symbol is in its upper half."""
    data = bytearray(macho(1))
    struct.pack_into("<Q", data, 32 + 72 + 40, (1 << 64) - 1)
    data[32 + 72 + 64] = 1  # filled with zeros
    struct.pack_into("<Q", data, len(data) - 4 - 8, 1 << 63)
    assert MachoObject(bytes(data), "k.o").digest(())


def test_a_short_name_ends_at_its_first_null_character():
    data = coff(1).replace(b"x" + bytes(7), b"x\0rest\0\0")
    assert [symbol.name for symbol in CoffObject(data, "k.o").symbols] == ["x"]


def test_a_long_name_that_many_symbols_share():
    """Together, they would take 10 GB."""
    count, name = 10_000, b"x" * 1_000_000 + b"\0"
    data = coff(1)[: -18 - 4] + struct.pack("<IIIhHBB", 0, 4, 0, 1, 0x20, 2, 0) * count
    data = data[:12] + struct.pack("<I", count) + data[16:] + struct.pack("<I", 4 + len(name)) + name
    with pytest.raises(BuildError, match="its names are too long"):
        CoffObject(data, "k.o")


def pe(sections: list[tuple[int, int]], content: bytes, directory: bytes = b"") -> bytes:
    """A library whose sections have (size, address); all have the same content. `directory` is that of exports."""
    optional = struct.pack("<H22sQ", 0x20B, bytes(22), 0x180000000).ljust(112, b"\0") + directory
    offset = 64 + 24 + 240 + 40 * len(sections)
    headers = b"".join(
        struct.pack("<8s6I2HI", b".text", size, address, size, offset, 0, 0, 0, 0, 0x60000020)
        for size, address in sections
    )
    start = b"MZ".ljust(60, b"\0") + struct.pack(
        "<I4sHHIIIHH", 64, b"PE\0\0", 0x8664, len(sections), 0, 0, 0, 240, 0x2022
    )
    return start + optional.ljust(240, b"\0") + headers + content


def problem_of(path) -> str:
    (result,) = audit_each([path], {})
    return str(result.problem)


def test_sections_of_a_pe_file_that_overlap(tmp_path):
    """2,000 times the same code, which would be decoded as often."""
    path = tmp_path / "many.dll"
    path.write_bytes(pe([(1000, 0x1000 * (number + 1)) for number in range(2000)], b"\x90" * 1000))
    assert problem_of(path) == f"{path}: is not a PE file that can be read: its sections overlap"


def test_a_long_name_that_many_exports_share(tmp_path):
    count, table = 60_000, 0x1000 + 40
    directory = struct.pack("<10I", 0, 0, 0, 0, 1, count, count, table, table + 4 * count, table + 8 * count)
    names = table + 10 * count
    content = directory + struct.pack("<I", table) * count + struct.pack("<I", names) * count
    content += b"".join(struct.pack("<H", number) for number in range(count)) + b"x" * 65_000 + b"\0"
    path = tmp_path / "exports.dll"
    path.write_bytes(pe([(len(content), 0x1000)], content, struct.pack("<II", 0x1000, 40)))
    assert problem_of(path) == f"{path}: is not a PE file that can be read: its names are too long"
