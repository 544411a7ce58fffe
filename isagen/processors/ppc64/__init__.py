"""Power (ppc64, ppc64le): levels from POWER9's vector instructions, detected by what Linux reports."""

from __future__ import annotations

from ..machines import Machine
from ..processor import Processor

PROCESSOR = Processor(
    name="ppc64",
    cpu_family="ppc64",
    spellings={"ppc64le": "ppc64"},
    macros={"__powerpc64__": "ppc64"},
    machine=Machine,
)
