"""arm64 (AArch64), little-endian: levels from NEON to SVE2, detected by what the OS reports."""

from __future__ import annotations

from ..machines import Machine
from ..processor import DecodableCode, Processor
from .abi import ABIS
from .flags import on_baseline

PROCESSOR = Processor(
    name="arm64",
    cpu_family="aarch64",
    spellings={"arm64": "aarch64"},
    macros={"__aarch64__": "aarch64"},
    level_flags=on_baseline,
    baseline_table="armv8",
    decodable=DecodableCode(
        "arm64",
        abis=ABIS,
        decoder=f"{__package__}.decoder:Arm64Decoder",
        defined=("__aarch64__", "__AARCH64EL__"),
        undefined=("__ILP32__",),
    ),
    machine=Machine,
)
