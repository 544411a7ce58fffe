"""riscv64: a level with vectors (V), detected by what Linux reports."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from ..machines import machine_of
from ..processor import Processor

PROCESSOR = Processor(
    name="riscv64",
    home=Path(__file__).parent,
    cpu_families=("riscv64",),
    default_tables={"riscv64": "riscv64"},
    macros={"__riscv": "riscv64"},
    this_machine=partial(machine_of, "riscv64", "riscv64"),
)
