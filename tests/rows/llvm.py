"""LLVM's tables of instructions, and the files of rows that are made of them.

llvm-tblgen --dump-json -I llvm/include -I llvm/lib/Target/AArch64 llvm/lib/Target/AArch64/AArch64.td -o arm64.json
python tests/rows/arm64.py arm64.json VERSION > isagen/processors/arm64/instructions.toml

The folders of riscv64 and s390x in LLVM are RISCV and SystemZ.
"""

from __future__ import annotations

import json
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import product
from typing import Any

Record = Mapping[str, Any]
Row = tuple[int, int]  # mask, value
Needs = frozenset[frozenset[str]]  # of each set, a CPU has one feature at least
Rows = Mapping[tuple[Needs, str, int], set[Row]]  # by needs, mnemonic and width

HEAD = """\
# The instructions of {name} and the features that they need. tests/rows/{name}.py writes this file from the tables of
# LLVM {version} (Apache 2.0 with LLVM exceptions).
#
# needs: the features, under LLVM's names; "a or b" means that one of the two is enough.
# words: each line is a mnemonic, a width, a mask and values; masks and values are hexadecimal. An instruction matches a
#   line if its bits under the mask equal one of the values. If it matches several lines, the mask with the most bits
#   counts. The width is that of the widest vector register in bits; registers without a fixed width count as 128 bits.
"""


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

    def instructions(self) -> Iterator[tuple[Record, str, list[str]]]:
        """Yield each instruction with its mnemonic and the names of its predicates."""
        for record in self.of("Instruction"):
            if not record["isPseudo"] and not record["isCodeGenOnly"] and record.get("Size") and record.get("Inst"):
                mnemonic = re.split(r"[\s{|]", record["AsmString"])[0].replace("$cond", "cond")
                yield record, mnemonic, [predicate["def"] for predicate in record["Predicates"]]

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


def operands(instruction: Record) -> list[str]:
    """Return the names of the classes of an instruction's operands."""
    parts = [part for key in ("OutOperandList", "InOperandList") for part, _ in instruction[key]["args"]]
    return [part.get("def") or part["printable"] for part in parts]


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
            for place in range(mask.bit_length())
            if mask >> place & 1 and not value >> place & 1 and (mask, value | 1 << place) in kept
        )
        rows, done = set(kept), set()
        for one, other, both in pairs:
            if one not in done and other not in done:
                done |= {one, other}
                rows = rows - {one, other} | {both}
        if not done:
            return kept


def text(rows: Rows, name: str, version: str) -> str:
    """Return the file."""
    lines: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for (needs, mnemonic, bits), its_rows in rows.items():
        values: dict[int, list[int]] = defaultdict(list)
        for mask, value in merged(its_rows):
            values[mask].append(value)
        clauses = tuple(sorted(" or ".join(sorted(clause, reverse=True)) for clause in needs))
        lines[clauses] += [
            " ".join((mnemonic.replace(" ", "_"), str(bits), f"{mask:x}", *(f"{value:x}" for value in sorted(fixed))))
            for mask, fixed in sorted(values.items())
        ]
    groups = [
        "\n[[groups]]\nneeds = [" + ", ".join(f'"{clause}"' for clause in clauses) + "]\nwords = '''\n"
        + "\n".join(sorted(group)) + "\n'''\n"
        for clauses, group in sorted(lines.items())
    ]  # fmt: skip
    return HEAD.format(name=name, version=version) + "".join(groups)


def write(name: str, collected: Callable[[Tables], Rows]) -> None:
    """Write the rows of a processor, `collected` from the tables that the command line names."""
    with open(sys.argv[1], encoding="utf-8") as stream:
        sys.stdout.write(text(collected(Tables(json.load(stream))), name, sys.argv[2]))
