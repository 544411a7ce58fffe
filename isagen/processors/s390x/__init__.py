"""s390x (IBM Z): levels from z13's vector instructions, detected by what Linux reports."""

from __future__ import annotations

from ..machines import Machine
from ..processor import DecodableCode, Processor
from .abi import ABIS

PROCESSOR = Processor(
    name="s390x",
    cpu_family="s390x",
    macros={"__s390x__": "s390x"},
    baseline_table="z",
    decodable=DecodableCode("s390x", abis=ABIS, decoder=f"{__package__}.decoder:S390xDecoder", defined=("__s390x__",)),
    machine=Machine,
)
