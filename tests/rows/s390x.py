"""Writes isagen/processors/s390x/instructions.toml; `llvm` says how. Words start at the highest of 48 bits."""

from __future__ import annotations

from collections import defaultdict

from llvm import Rows, Tables, fixed_bits, operands, write

BITS = 48
# The highest bits of the second and third operand of these are ignored, and compilers set them.
ROTATING = ("risb", "rnsbg", "rosbg", "rxsbg")
IGNORED = 0xFFFF0000
WIDTHS = {128: ("VR128", "FP128"), 64: ("VR64", "VR32", "VR16", "FP64", "FP32", "FP16")}


def collected(tables: Tables) -> Rows:
    """Return the rows of each mnemonic, by what they need and by their width."""
    rows = defaultdict(set)
    # No instruction, now or later: glibc stops programs with it.
    rows[frozenset(), "illegal", 0].add(((1 << BITS) - 1, 0))
    for record, mnemonic, predicates in tables.instructions():
        shift = BITS - 8 * record["Size"]
        mask, value = fixed_bits(record["Inst"])
        if mnemonic.startswith(ROTATING):
            mask, value = mask & ~IGNORED, value & ~IGNORED
        names = operands(record)
        width = next((bits for bits, prefixes in WIDTHS.items() if any(n.startswith(prefixes) for n in names)), 0)
        rows[tables.needs(predicates), mnemonic, width].add((mask << shift | (1 << shift) - 1, value << shift))
    return rows


if __name__ == "__main__":
    write("s390x", collected)
