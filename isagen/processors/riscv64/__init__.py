"""riscv64: levels with bit manipulation (Zba, Zbb) and vectors (V, Zvfh), detected by what Linux reports."""

from __future__ import annotations

from pathlib import Path

from ..machines import Machine, machine_of
from ..processor import Processor
from .machine import HWPROBE, RiscvMachine


def _this_machine() -> Machine:
    machine_of("riscv64", "riscv64")
    return RiscvMachine()


PROCESSOR = Processor(
    name="riscv64",
    home=Path(__file__).parent,
    cpu_families=("riscv64",),
    default_tables={"riscv64": "riscv64"},
    macros={"__riscv": "riscv64"},
    detection="riscv64",
    kinds=(HWPROBE,),
    this_machine=_this_machine,
)
