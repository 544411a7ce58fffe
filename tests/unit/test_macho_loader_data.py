"""What a Mach-O file has for the loader: fixups and jump tables, sound and damaged."""

import struct

import pytest

from isagen.binary.macho.fixups import Fixup, Segment, Stream, by_opcodes
from isagen.binary.macho.jump_tables import jump_tables


def opcodes(rebases: bytes = b"", binds: bytes = b"", weak: bytes = b"", lazy: bytes = b"") -> list[Fixup]:
    """The fixups in a file with a segment of 64 bytes, which is at address 0x1000."""
    parts, data = [rebases, binds, weak, lazy], bytearray(64)
    struct.pack_into("<QQ", data, 16, 0x1020, 0x1028)
    fields = [0, 0]
    for part in parts:
        fields += len(data), len(part)
        data += part
    return list(by_opcodes(bytes(data), [Segment(0x1000, 0, 64)], fields))


def test_opcodes_of_fixups():
    assert opcodes(rebases=b"\x11\x20\x10\x52\0") == [Fixup(0x1010, 0x1020, own=True), Fixup(0x1018, 0x1028, own=True)]
    named = b"\x51\x40_f\0\x70\x08"
    assert opcodes(binds=b"\x12" + named + b"\xb1\x60\x7f\x90") == [
        Fixup(0x1008, name="_f"),
        Fixup(0x1018, name="_f", addend=-1),
    ]
    assert opcodes(lazy=b"\x11\x40_f\0\x70\x08\x90\0\x40_g\0\x70\x10\x90\0") == [
        Fixup(0x1008, name="_f"),
        Fixup(0x1010, name="_g"),
    ]
    assert opcodes(binds=b"\x3e" + named + b"\xc0\2\x08") == [
        Fixup(0x1008, name="_f", own=True),
        Fixup(0x1018, name="_f", own=True),
    ]
    assert opcodes(weak=named + b"\x90") == [Fixup(0x1008, name="_f", own=True)]
    back = named + b"\x80" + b"\xf8" + b"\xff" * 8 + b"\1\x90"  # distances may be negative
    assert opcodes(binds=b"\x11" + back) == [Fixup(0x1000, name="_f")]


@pytest.mark.parametrize(
    ("binds", "problem"),
    [
        (b"\xd0", "opcode 0xd0 of its fixups is not known"),
        (b"\x52", "opcode 0x52"),
        (b"\x70\x40\x90", "outside of its segment"),
        (b"\x71\x00\x90", "index out of range"),
        (b"\x70\x00\xc0\xff\xff\xff\xff\x0f\0", "more fixups than bytes"),
        (b"\x70\x80", "end too early"),
    ],
)
def test_damaged_fixups_are_refused(binds, problem):
    with pytest.raises((ValueError, IndexError), match=problem):
        opcodes(binds=binds)


def test_numbers_and_texts():
    stream = Stream(b"\xe5\x8e\x26\x7f\x80\x7f\x3fab\0", 0, 10)
    assert (stream.uleb(), stream.sleb(), stream.sleb(), stream.sleb()) == (624485, -1, -128, 63)
    assert (stream.text(), bool(stream)) == (b"ab", False)
    with pytest.raises(ValueError, match="cut off"):
        Stream(b"ab", 1, 2)


def test_jump_tables():
    """LEA of the table, a jump; the table, whose entries are distances to code; code, or another function."""
    code = b"\x48\x8d\x05" + struct.pack("<i", 9) + b"\xff\xe0".ljust(9, b"\x90")
    table = struct.pack("<4i", -9, -16, -5, -1)
    assert list(jump_tables(code + table + b"\xc3" * 8, [0, 32])) == [(16, 32)]
    assert list(jump_tables(code + table[:8] + b"\xc3" * 8, [0, 24])) == []
    again = code + struct.pack("<4i", -9, -25, -5, -1)  # the second entry leads to no code of the function
    assert list(jump_tables(again, [0])) == []
    inside = code + struct.pack("<4i", 16, 24, 20, 17) + b"\xc3\0\0\0" * 4  # 0xc3 could be an entry, too
    assert list(jump_tables(inside + bytes(300), [0])) == [(16, 32)]
