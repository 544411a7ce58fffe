"""Writes isagen/processors/arm64/instructions.toml from LLVM's tables, for use when LLVM knows new instructions.

llvm-tblgen --dump-json -I llvm/include -I llvm/lib/Target/AArch64 llvm/lib/Target/AArch64/AArch64.td -o arm64.json
python tests/arm64/rows.py arm64.json VERSION > isagen/processors/arm64/instructions.toml
"""

from __future__ import annotations

import json
import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping
from itertools import product
from typing import Any

Record = Mapping[str, Any]
Row = tuple[int, int]  # mask, value
Needs = frozenset[frozenset[str]]  # of each set, a CPU has one feature at least

HEAD = """\
# The instructions of arm64 and the features that they need. tests/arm64/rows.py writes this file from the tables of
# LLVM {version} (Apache 2.0 with LLVM exceptions).
#
# needs: the features, under LLVM's names; "a or b" stands for one of them.
# words: a line for each mnemonic, width and mask, followed by values; masks and values are hexadecimal. An instruction
#   is a word that, under the mask, is one of the values. If a word matches several lines, the mask with the most bits
#   counts. The width is that of the widest vector register in bits; registers without a fixed width count as 128 bits.
"""
# Registers that programs may use and for which LLVM names no feature.
REGISTERS = {"FPMR": "fpmr", "GCSPR_EL0": "gcs"}
USER = 3  # op1 of system instructions for programs
# How the names of operands start, by width.
WIDTHS = {
    128: ("V128", "FPR128", "Z_", "ZPR", "ZZ", "PPR", "PNR", "Tile", "ZT", "MatrixOp"),
    64: ("V64", "FPR", "VecList"),
}
WIDE_LIST = re.compile("VecList.*(16b|8h|4s|2d)")


def fixed_bits(bits: Iterable[Any]) -> Row:
    """Return the mask and the value of the bits that a record fixes, the lowest first."""
    fixed = [(place, bit) for place, bit in enumerate(bits) if bit in (0, 1)]
    return sum(1 << place for place, _ in fixed), sum(bit << place for place, bit in fixed)


class Tables:
    """The records of LLVM's tables."""

    def __init__(self, records: Mapping[str, Any]) -> None:
        self._records = records
        self._features: dict[str, str] = {
            name: self._records[name]["Name"].replace("-", "_") for name in self.named("SubtargetFeature")
        }

    def named(self, kind: str) -> list[str]:
        return list(self._records["!instanceof"].get(kind, ()))

    def of(self, kind: str) -> list[Record]:
        return [self._records[name] for name in self.named(kind)]

    def needs(self, predicates: Iterable[str]) -> Needs:
        """Return what predicates need, in conjunctive normal form."""
        clauses: Needs = frozenset()
        for name in predicates:
            condition = self._records[name].get("AssemblerCondDag")
            if condition is not None:
                clauses |= self._clauses(condition)
        return frozenset(one for one in clauses if not any(other < one for other in clauses))

    def _clauses(self, condition: Record) -> Needs:
        if condition["kind"] == "def":
            feature = self._features.get(condition["def"])
            return frozenset({frozenset({feature})}) if feature else frozenset()
        operator = condition["operator"]["def"]
        parts = [part for part, _ in condition["args"] if part.get("def") != "FeatureAll"]
        if operator == "not":
            return frozenset()
        clauses = [self._clauses(part) for part in parts]
        if operator == "all_of":
            return frozenset().union(*clauses)
        return frozenset(frozenset().union(*choice) for choice in product(*clauses))

    def required(self, record: Record) -> Needs:
        """Return what a system register or operand needs: its key has the form ` {AArch64::FeatureMTE} `."""
        return frozenset(frozenset({self._features[name]}) for name in re.findall(r"\w+::(\w+)", record["Requires"]))


def width(instruction: Record) -> int:
    """Return the width of the widest vector register of an instruction."""
    operands = [part for key in ("OutOperandList", "InOperandList") for part, _ in instruction[key]["args"]]
    names = [part.get("def") or part["printable"] for part in operands]
    for bits, prefixes in WIDTHS.items():
        if any(name.startswith(prefixes) or (bits == 128 and WIDE_LIST.match(name)) for name in names):
            return bits
    return 0


def collected(tables: Tables) -> dict[tuple[Needs, str, int], set[Row]]:
    """Return the rows of each mnemonic, by what they need and by their width."""
    rows: dict[tuple[Needs, str, int], set[Row]] = defaultdict(set)
    for record in tables.of("Instruction"):
        if record["isPseudo"] or record["isCodeGenOnly"] or record.get("Size") != 4 or not record.get("Inst"):
            continue
        mnemonic = re.split(r"[\s{|]", record["AsmString"])[0].replace("$cond", "cond")
        needs = tables.needs(predicate["def"] for predicate in record["Predicates"])
        rows[needs, mnemonic, width(record)].add(fixed_bits(record["Inst"]))
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


def merged(rows: set[Row]) -> set[Row]:
    """Return fewer rows that the same words match: pairs that differ in one fixed bit are one row without it."""
    while True:
        kept: set[Row] = set()
        for mask, value in sorted(rows, key=lambda row: row[0].bit_count()):
            if not any(mask & other == other and value & other == fixed for other, fixed in kept):
                kept.add((mask, value))
        pairs = (
            ((mask, value), (mask, value | 1 << place), (mask & ~(1 << place), value))
            for mask, value in sorted(kept)
            for place in range(32)
            if mask >> place & 1 and not value >> place & 1 and (mask, value | 1 << place) in kept
        )
        rows, done = set(kept), set()
        for one, other, both in pairs:
            if one not in done and other not in done:
                done |= {one, other}
                rows = rows - {one, other} | {both}
        if not done:
            return kept


def text(rows: Mapping[tuple[Needs, str, int], set[Row]], version: str) -> str:
    """Return the file."""
    lines: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for (needs, mnemonic, bits), its_rows in rows.items():
        values: dict[int, list[int]] = defaultdict(list)
        for mask, value in merged(its_rows):
            values[mask].append(value)
        clauses = tuple(sorted(" or ".join(sorted(clause, reverse=True)) for clause in needs))
        name = mnemonic.replace(" ", "_")
        lines[clauses] += [
            " ".join((name, str(bits), f"{mask:x}", *(f"{value:x}" for value in sorted(fixed))))
            for mask, fixed in sorted(values.items())
        ]
    groups = [
        "\n[[groups]]\nneeds = [" + ", ".join(f'"{clause}"' for clause in clauses) + "]\nwords = '''\n"
        + "\n".join(sorted(group)) + "\n'''\n"
        for clauses, group in sorted(lines.items())
    ]  # fmt: skip
    return HEAD.format(version=version) + "".join(groups)


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as stream:
        sys.stdout.write(text(collected(Tables(json.load(stream))), sys.argv[2]))
