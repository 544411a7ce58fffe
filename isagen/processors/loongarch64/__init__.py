"""loongarch64: levels with vectors of 128 and 256 bits (LSX, LASX), detected by what Linux reports."""

from __future__ import annotations

from ..machines import Machine
from ..processor import Processor

PROCESSOR = Processor(
    name="loongarch64",
    cpu_family="loongarch64",
    macros={"__loongarch64": "loongarch64"},
    machine=Machine,
)
