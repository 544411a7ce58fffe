"""Functions in the tables for unwinding the stack (.eh_frame)."""

import struct

from isagen.binary.elf.unwind import unwind_table_functions

# Version 1, augmentation zR, alignments 1 and -8, return address in register 16, addresses relative in 32 bits.
CIE = struct.pack("<I", 0) + b"\x01zR\0\x01\x78\x10\x01\x1b" + b"\0" * 7


def record(body):
    return struct.pack("<I", len(body)) + body


def function(place, start, size):
    """A record at an offset of the table, for a function at an address."""
    return record(struct.pack("<IiI", place + 4, start - place - 8, size) + b"\0" * 4)


def test_a_record_of_64_bits_is_skipped_whole():
    """Its last bytes look like the length of a record."""
    long = b"\xff\xff\xff\xff" + struct.pack("<Q", 24) + b"\0" * 20 + struct.pack("<I", 100)
    head = record(CIE) + long
    table = head + function(len(head), 0x100, 32) + struct.pack("<I", 0)
    assert list(unwind_table_functions(table, 0)) == [(0x100, 32)]
