"""riscv64: a level with vectors (V), detected by what Linux reports."""

from __future__ import annotations

from pathlib import Path

from ..processor import Processor

PROCESSOR = Processor(
    name="riscv64",
    home=Path(__file__).parent,
    cpu_families=("riscv64",),
    default_tables={"riscv64": "riscv64"},
    macros={"__riscv": "riscv64"},
)
