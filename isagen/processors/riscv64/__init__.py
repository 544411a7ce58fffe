"""riscv64: levels with bit manipulation (Zba, Zbb) and vectors (V, Zvfh), detected by what Linux reports."""

from __future__ import annotations

from ..processor import DecodableCode, Processor
from .abi import ABIS
from .machine import HWPROBE, RiscvMachine

PROCESSOR = Processor(
    name="riscv64",
    cpu_family="riscv64",
    macros={"__riscv": "riscv64"},
    detection="riscv64",
    kinds=(HWPROBE,),
    baseline_table="rva",
    decodable=DecodableCode(
        "riscv64",
        abis=ABIS,
        decoder=f"{__package__}.decoder:RiscvDecoder",
        defined=("__riscv", "__riscv_flen"),
        undefined=("__ILP32__",),
    ),
    machine=RiscvMachine,
)
