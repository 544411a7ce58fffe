"""loongarch64: levels with vectors of 128 and 256 bits (LSX, LASX), detected by what Linux reports."""

from __future__ import annotations

from pathlib import Path

from ..machines import Machine
from ..processor import OldestCpu, Processor

# Compilers turn LSX on by default, so code for CPUs without LSX needs this attribute, which GCC has from 15 on.
OLDEST_CPU = OldestCpu(
    macro="__loongarch__",
    gcc=(("__GNUC__ >= 15", "no-lasx,no-lsx"),),
    clang=(("__clang_major__ >= 20", "no-lasx,no-lsx"),),
)

PROCESSOR = Processor(
    name="loongarch64",
    home=Path(__file__).parent,
    cpu_family="loongarch64",
    macros={"__loongarch64": "loongarch64"},
    oldest_cpu=OLDEST_CPU,
    machine=Machine,
)
