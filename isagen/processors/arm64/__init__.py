"""arm64 (AArch64), little-endian: levels from NEON to SVE2, detected by what the OS reports."""

from __future__ import annotations

from pathlib import Path

from ..machines import Machine
from ..processor import DecodableCode, OldestCpu, Processor
from .abi import ABIS
from .flags import on_baseline

# In GCC's pragma, arch= turns off all features of the command line; under armv9-a, GCC warns that the pragma
# redefines __ARM_ARCH. Clang 14 to 22 ignore arch=. In these two cases, features that compilers use without an
# intrinsic are turned off by name.
GCC = "+nosve+nolse+norcpc+nopauth+nodotprod+nosha3+nomops"
CLANG = "no-sve,no-lse,no-rcpc,no-pauth,no-dotprod,no-sha3,no-mops"
OLDEST_CPU = OldestCpu(
    macro="__aarch64__",
    gcc=(("__ARM_ARCH >= 9 && __GNUC__ >= 13", f"{GCC}+nocssc"), ("__ARM_ARCH >= 9", GCC), ("1", "arch=armv8-a")),
    clang=(("__clang_major__ >= 16", f"{CLANG},no-cssc"), ("1", CLANG)),
)


PROCESSOR = Processor(
    name="arm64",
    home=Path(__file__).parent,
    cpu_family="aarch64",
    spellings={"arm64": "aarch64"},
    macros={"__aarch64__": "aarch64"},
    oldest_cpu=OLDEST_CPU,
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
