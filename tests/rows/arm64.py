"""Writes isagen/processors/arm64/instructions.toml; `llvm` says how."""

from __future__ import annotations

import re
from collections import defaultdict

from llvm import Record, Rows, Tables, fixed_bits, operands, write

# Registers that programs may use and for which LLVM names no feature.
REGISTERS = {"FPMR": "fpmr", "GCSPR_EL0": "gcs"}
USER = 3  # op1 of system instructions for programs
# How the names of operands start, by width.
WIDTHS = {
    128: ("V128", "FPR128", "Z_", "ZPR", "ZZ", "PPR", "PNR", "Tile", "ZT", "MatrixOp"),
    64: ("V64", "FPR", "VecList"),
}
WIDE_LIST = re.compile("VecList.*(16b|8h|4s|2d)")


def width(instruction: Record) -> int:
    """Return the width of the widest vector register of an instruction."""
    names = operands(instruction)
    for bits, prefixes in WIDTHS.items():
        if any(name.startswith(prefixes) or (bits == 128 and WIDE_LIST.match(name)) for name in names):
            return bits
    return 0


def collected(tables: Tables) -> Rows:
    """Return the rows of each mnemonic, by what they need and by their width."""
    rows = defaultdict(set)
    for record, mnemonic, predicates in tables.instructions():
        if record["Size"] == 4:
            rows[tables.needs(predicates), mnemonic, width(record)].add(fixed_bits(record["Inst"]))
    for record in tables.of("SysReg"):
        value = fixed_bits(record["Encoding"])[1]
        needs = tables.required(record)
        if record["Name"] in REGISTERS:
            needs = frozenset({frozenset({REGISTERS[record["Name"]]})})
        if needs and value >> 14 == 3 and value >> 11 & 7 == USER and not record["Name"].startswith("AM"):
            for bit, base, mnemonic in (("Readable", 0xD5200000, "mrs"), ("Writeable", 0xD5000000, "msr")):
                if record[bit]:
                    rows[needs, f"{mnemonic} {record['Name'].lower()}", 0].add((0xFFFFFFE0, base | value << 5))
    for record in tables.of("PStateImm0_15") + tables.of("PStateImm0_1"):
        value = fixed_bits(record["Encoding"])[1]
        if len(record["Encoding"]) == 6 and tables.required(record) and value >> 3 == USER:
            word = 0xD500401F | (value >> 3) << 16 | (value & 7) << 5
            rows[tables.required(record), f"msr {record['Name'].lower()}", 0].add((0xFFFFF0FF, word))
    for record in tables.of("DC"):
        value = fixed_bits(record["Encoding"])[1]
        if tables.required(record) and value >> 11 == USER:
            rows[tables.required(record), f"dc {record['Name'].lower()}", 0].add((0xFFFFFFE0, 0xD5080000 | value << 5))
    return rows


if __name__ == "__main__":
    write("arm64", collected)
