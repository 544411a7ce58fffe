"""s390x (IBM Z): levels from z13's vector instructions, detected by what Linux reports."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from ..decoding import Abi, Decoder
from ..machines import machine_of
from ..processor import DecodableCode, Processor
from .abi import ABIS


def _decoder(abi: Abi) -> Decoder:
    from .decoder import S390xDecoder

    return S390xDecoder(abi)


PROCESSOR = Processor(
    name="s390x",
    home=Path(__file__).parent,
    cpu_families=("s390x",),
    default_tables={"s390x": "s390x"},
    macros={"__s390x__": "s390x"},
    baseline_table="z",
    decodable=DecodableCode("s390x", abis=ABIS, decoder=_decoder, defined=("__s390x__",)),
    this_machine=partial(machine_of, "s390x", "s390x"),
)
