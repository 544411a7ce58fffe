"""The processor x86-64. 32-bit x86 shares the names of features, and only its baseline is built."""

from __future__ import annotations

from ..processor import DecodableCode, Processor
from .abi import ABIS
from .machine import CPUID, ThisMachine, read_state

PROCESSOR = Processor(
    name="x86",
    cpu_family="x86_64",
    spellings={"amd64": "x86_64", "i386": "x86", "i486": "x86", "i586": "x86", "i686": "x86"},
    macros={"__x86_64__": "x86_64", "__i386__": "x86"},
    detection="x86",
    kinds=(CPUID,),
    read_state=read_state,
    baseline_table="x86-64",
    decodable=DecodableCode(
        "x86-64",
        abis=ABIS,
        decoder=f"{__package__}.decoder:X86Decoder",
        distribution="iced-x86",
        package="iced_x86",
        defined=("__x86_64__",),
        undefined=("__ILP32__",),
    ),
    machine=ThisMachine,
)
