"""CPUs as recorded in tests/cpuid/*.toml: raw registers for the detection to read, and what it must find.

max_leaf, max_extended, max_subleaf_7   how far CPUID goes; without max_extended there are no extended leaves
beyond       the answer of a leaf past the highest: "highest" (that leaf's data, as Intel's) or "zero" (as AMD's)
features     names of isagen/processors/x86/features.toml whose bits are set; `without` takes some (patterns) out
xcr0, permission, sysctl                what the OS saves; whether it grants AMX; sysctls that are 1 (macOS)
[registers]  "LEAF.SUBLEAF" = registers that replace those made of features, also beyond the limits
[selected]   per table, for an override (none: no override), the level that must be selected; "" for none at all
[missing]    per table and level, a part of the text that says what is missing
like         a recording to start from: its features and what it says of CPU and OS, not what is expected
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from isagen.processors.registry import builtin_tables
from isagen.processors.table import load_table
from isagen.processors.x86.machine import REGISTERS, X86Machine
from support.checkout import ROOT

FOLDER = ROOT / "tests/cpuid"
FEATURES = load_table("x86", Path()).features
X86_TABLES = [name for name in builtin_tables() if load_table(name, Path()).features.name == "x86"]
EXTENDED = 0x80000000
KEYS = {"like", "max_leaf", "max_extended", "max_subleaf_7", "beyond", "features", "without", "xcr0", "permission"}
KEYS |= {"sysctl", "registers", "selected", "missing"}

# Of seed 0, IPEX's documentation: the report of a Sapphire Rapids.
SAMPLE = """
XCR0: 00000000000602e7 os --> avx: true os --> avx2: true os --> avx512: true os --> amx: true mmx: true sse: true sse2:
true sse3: true ssse3: true sse4_1: true sse4_2: true aes_ni: true sha: true xsave: true fma: true f16c: true avx: true
avx2: true avx_vnni: true avx512_f: true avx512_cd: true avx512_pf: false avx512_er: false avx512_vl: true avx512_bw:
true avx512_dq: true avx512_ifma: true avx512_vbmi: true avx512_vpopcntdq: true avx512_4fmaps: false avx512_4vnniw:
false avx512_vbmi2: true avx512_vpclmul: true avx512_vnni: true avx512_bitalg: true avx512_fp16: true avx512_bf16: true
avx512_vp2intersect: true amx_bf16: true amx_tile: true amx_int8: true prefetchw: true prefetchwt1: false
"""


@dataclass(frozen=True)
class Recorded(X86Machine):
    """A CPU and its OS, which answer as they were recorded."""

    name: str
    rows: dict[tuple[int, int], tuple[int, ...]]
    otherwise: tuple[int, ...]
    saved: int | None  # XCR0
    grants: bool
    sysctls: tuple[str, ...]
    selected: dict[str, dict[str, str]]
    missing: dict[str, dict[str, str]]

    def cpuid(self, leaf: int, subleaf: int) -> tuple[int, ...]:
        if (leaf, subleaf) in self.rows:
            return self.rows[leaf, subleaf]
        known = any(row[0] == leaf for row in self.rows)
        return (0, 0, 0, 0) if known else self.otherwise

    def xgetbv(self, index: int) -> int:
        assert index == 0
        assert self.saved is not None, "XGETBV without OSXSAVE is an illegal instruction"
        return self.saved

    def permission(self, number: int) -> bool:
        assert number == 18
        return self.grants

    def hwcap(self, word: int) -> int:
        raise AssertionError("x86 has no features in HWCAP")

    def sysctl(self, name: str) -> int:
        return int(name in self.sysctls)


def recorded() -> list[Recorded]:
    """Return every recording, by name."""
    return [_recording(path.stem) for path in sorted(FOLDER.glob("*.toml"))]


def _recording(name: str) -> Recorded:
    data = _data(name)
    features = data["features"]
    assert set(features) <= set(FEATURES.features), f"{name}: {set(features) - set(FEATURES.features)}"
    last, extended = data["max_leaf"], data.get("max_extended", 0)
    rows: dict[tuple[int, int], list[int]] = {(0, 0): [last, 0, 0, 0]}
    if extended:
        rows[EXTENDED, 0] = [extended, 0, 0, 0]
    for feature in FEATURES.features.values():
        (condition,) = feature.conditions
        leaf, subleaf, register = condition.source.place
        if leaf <= (extended if leaf >= EXTENDED else last):
            row = rows.setdefault((leaf, subleaf), [0, 0, 0, 0])
            if feature.name in features:
                row[REGISTERS.index(register)] |= condition.minimum << condition.low
    if last >= 7:
        rows[7, 0][0] = data.get("max_subleaf_7", 0)
    for place, registers in data.get("registers", {}).items():
        leaf, subleaf = (int(word, 16) for word in place.split("."))
        row = rows.setdefault((leaf, subleaf), [0, 0, 0, 0])
        for register, value in registers.items():
            row[REGISTERS.index(register)] = value
    highest = rows.get((last, 0), [0, 0, 0, 0]) if data["beyond"] == "highest" else [0, 0, 0, 0]
    return Recorded(
        name=name,
        rows={place: tuple(row) for place, row in rows.items()},
        otherwise=tuple(highest),
        saved=data["xcr0"] if "osxsave" in features else None,
        grants=data.get("permission", False),
        sysctls=tuple(data.get("sysctl", ())),
        selected=data["selected"],
        missing=data.get("missing", {}),
    )


def _data(name: str) -> dict[str, Any]:
    own = tomllib.loads((FOLDER / f"{name}.toml").read_text(encoding="utf-8"))
    assert set(own) <= KEYS, f"{name}: {set(own) - KEYS}"
    like = _data(own["like"]) if "like" in own else {"features": []}
    for key in ("selected", "missing", "registers"):
        like.pop(key, None)
    without = own.get("without", [])
    features = [x for x in like["features"] if not any(fnmatchcase(x, pattern) for pattern in without)]
    return {**like, **own, "features": [*features, *own.get("features", [])]}
