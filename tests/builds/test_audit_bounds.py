"""An audit of odd code ends: what it decodes is bounded by the size of the code, whatever leads where."""

import random
import struct

import pytest

from isagen.binary.elf.reader import Elf
from isagen.processors.x86.decoder import X86Decoder
from support.foreign import audit, run

ENTRIES = 1500
# How many times the bytes of the code are decoded at most, and 64 KiB more than the code has: pieces of code overlap up
# to 8 times and by so much, and several questions are asked of each.
TIMES = 16


def chained(order):
    """Each entry calls another one and goes on into the next: what an entry reaches is all that comes after it."""
    yield from (f"e{number}: call e{order.randrange(ENTRIES)}" for number in range(ENTRIES))
    yield "ret"


def tailed(order):
    """All entries jump into a common tail, each to a place of its own."""
    yield from (f"e{number}: jmp t{number}" for number in range(ENTRIES))
    yield from (f"t{number}: addl $1, x(%rip)" for number in range(ENTRIES))
    yield "ret"


def woven(order):
    """Jumps, calls, data among code, and returns, anywhere to anywhere."""
    for number in range(ENTRIES):
        to = f"e{order.randrange(ENTRIES)}"
        kinds = ["call {0}", "jne {0}", "jmp {0}", "lea {0}(%rip), %rax; call *%rax", "ret", ".byte {1}, {2}"]
        yield f"e{number}: " + order.choice(kinds).format(to, order.randrange(256), order.randrange(256))
    yield "ret"


def tables(order):
    """Each entry takes the address of a table, which leads to the next table and to an entry."""
    for number in range(ENTRIES):
        yield f"e{number}: lea d{number}(%rip), %rax; ret"
    yield '.section .data.rel.ro, "aw"'
    for number in range(ENTRIES):
        yield f".type d{number}, @object; d{number}: .quad d{(number + 1) % ENTRIES}, e{number}; .size d{number}, 16"


SHAPES = {"chained": chained, "tailed": tailed, "woven": woven, "tables": tables}


def source(shape, sized, seed):
    """Assembly whose entries are all called by a constructor; `sized` gives each a symbol with its size."""
    order = random.Random(seed)
    lines = [".text", "first:", *(f"call e{number}" for number in range(ENTRIES)), "ret", *SHAPES[shape](order)]
    if sized:
        lines += [".text", *(f".type e{one}, @function; .size e{one}, 5" for one in range(ENTRIES))]
    lines += ['.section .init_array, "aw"', ".quad first", ".bss", "x: .zero 4"]
    return "\n".join([*lines, '.section .note.GNU-stack, "", @progbits', ""])


@pytest.fixture
def decoded(monkeypatch):
    """How many bytes were decoded, in a list of one number."""
    total = [0]
    codes, references = X86Decoder.codes, X86Decoder.references

    def counted_codes(self, raw, *arguments):
        total[0] += len(raw)
        return codes(self, raw, *arguments)

    def counted_references(self, raw, address, *arguments, **options):
        for one in references(self, raw, address, *arguments, **options):
            total[0] += one.after - address
            address = one.after
            yield one

    monkeypatch.setattr(X86Decoder, "codes", counted_codes)
    monkeypatch.setattr(X86Decoder, "references", counted_references)
    return total


@pytest.mark.parametrize("kind", ["sized", "sizeless", "stripped"])
@pytest.mark.parametrize("shape", SHAPES)
def test_odd_control_flow(link, decoded, shape, kind):
    for seed in range(3 if shape == "woven" else 1):
        path = link(source(shape, kind == "sized", seed), "-nostdlib", kind=".s")
        if kind == "stripped":
            run("strip", path)
        with Elf(path) as binary:
            size = sum(section.size for section in binary.sections if section.executable)
        decoded[0] = 0
        audit(path)
        assert 0 < decoded[0] < TIMES * (size + (1 << 16))


@pytest.mark.parametrize("size", [1 << 20, 1 << 40, (1 << 64) - 1])
def test_functions_that_are_said_to_be_huge(link, decoded, size):
    path = link(source("woven", True, 1), "-nostdlib", kind=".s")
    raw = bytearray(path.read_bytes())
    with Elf(path) as binary:
        code = sum(section.size for section in binary.sections if section.executable)
        table = next(section for section in binary.sections if section.name == ".symtab")
    for place in range(table.offset, table.offset + table.size, 24):
        if raw[place + 4] & 15 == 2:  # STT_FUNC
            raw[place + 16 : place + 24] = struct.pack("<Q", size)
    path.write_bytes(raw)
    audit(path)
    assert 0 < decoded[0] < TIMES * (code + (1 << 16))
