"""Power (ppc64, ppc64le): levels from POWER9's vector instructions, detected by what Linux reports."""

from __future__ import annotations

from pathlib import Path

from ..machines import Machine
from ..processor import OldestCpu, Processor

# In GCC and Clang, cpu= does not turn off the features of -mcpu on the command line. For Clang, those that it uses
# without an intrinsic are turned off by name.
OLDEST_CPU = OldestCpu(
    macro="__powerpc64__",
    gcc=(("1", "cpu=power8"),),
    clang=(("1", "no-power9-vector,no-power10-vector,no-isa-v30-instructions,no-pcrelative-memops,no-prefix-instrs"),),
)


PROCESSOR = Processor(
    name="ppc64",
    home=Path(__file__).parent,
    cpu_family="ppc64",
    spellings={"ppc64le": "ppc64"},
    macros={"__powerpc64__": "ppc64"},
    oldest_cpu=OLDEST_CPU,
    machine=Machine,
)
