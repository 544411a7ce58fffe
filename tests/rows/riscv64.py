"""Writes isagen/processors/riscv64/instructions.toml; `llvm` says how."""

from __future__ import annotations

from collections import defaultdict

from llvm import Rows, Tables, fixed_bits, operands, write

# Left out: instructions of 32-bit CPUs, of CPUs with floating-point numbers in general registers, of CPUs without
# compressed floating-point stores, and of single makers, whose words are others' too.
OTHER_CPUS = ("RV32", "Zfinx", "Zdinx", "Zhinx", "ZcOverlap")
VENDORS = "HasVendor"
# The shadow stack's own instructions are some that Zimop and Zcmop reserve: a CPU with these does nothing.
RESERVED = ("sspush", "sspopchk", "ssrdp", "c.ssp")
EXPERIMENTAL = "experimental_"
CSRS = {"csrrw": 1, "csrrs": 2, "csrrc": 3, "csrrwi": 5, "csrrsi": 6, "csrrci": 7}
# Registers for which LLVM names no feature.
REGISTERS = {"seed": "zkr", "ssp": "zicfiss"} | dict.fromkeys(
    ("vstart", "vxsat", "vxrm", "vcsr", "vl", "vtype", "vlenb"), "zve32x"
)


def collected(tables: Tables) -> Rows:
    """Return the rows of each mnemonic, by what they need and by their width."""
    rows = defaultdict(set)
    for record, mnemonic, predicates in tables.instructions():
        others = [record["DecoderNamespace"], *predicates]
        if any(name.removeprefix("HasStdExt").startswith(OTHER_CPUS) or VENDORS in name for name in others):
            continue
        if "IsRV32" in predicates or record["Size"] > 4 or mnemonic.startswith(RESERVED):
            continue
        every = tables.needs(name for name in predicates if name != "IsRV64")
        needs = frozenset(frozenset(one for one in clause if not one.startswith(EXPERIMENTAL)) for clause in every)
        if all(needs):
            width = 128 if any(name.startswith("VR") for name in operands(record)) else 0
            rows[needs, mnemonic, width].add(fixed_bits(record["Inst"]))
    for record in tables.of("SysReg"):
        if record["Name"] in REGISTERS:
            place = fixed_bits(record["Encoding"])[1] << 20
            needs = frozenset({frozenset({REGISTERS[record["Name"]]})})
            for mnemonic, function in CSRS.items():
                rows[needs, f"{mnemonic} {record['Name']}", 0].add((0xFFF0707F, place | function << 12 | 0x73))
    return rows


if __name__ == "__main__":
    write("riscv64", collected)
