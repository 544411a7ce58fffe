"""The processor x86-64. 32-bit x86 shares the names of features, and only its baseline is built."""

from __future__ import annotations

from pathlib import Path

from ..machines import Machine
from ..processor import DecodableCode, OldestCpu, Processor
from .abi import ABIS
from .registers import CPUID, read_state

# In GCC, arch= turns off all features that the command line turns on. In Clang, it turns off only those of -march=NAME,
# not those of -mavx512f or -march=native, so extensions that Clang uses without an intrinsic are turned off by name.
# Turning off SSE3 turns off the vector extensions above SSE3. Clang 14 knows all names but APX's.
CLANG = "arch=x86-64,no-sse3,no-cx16,no-sahf,no-popcnt,no-lzcnt,no-bmi,no-bmi2,no-tbm,no-movbe,no-adx,no-gfni"
OLDEST_CPU = OldestCpu(
    macro="__x86_64__",
    gcc=(("1", "arch=x86-64"),),
    clang=(
        ("defined(__APX_F__)", f"{CLANG},no-egpr,no-push2pop2,no-ppx,no-ndd,no-ccmp,no-nf,no-cf,no-zu"),
        ("1", CLANG),
    ),
)


def _this_machine() -> Machine:
    from .machine import ThisMachine

    return ThisMachine()


PROCESSOR = Processor(
    name="x86",
    home=Path(__file__).parent,
    cpu_family="x86_64",
    spellings={"amd64": "x86_64", "i386": "x86", "i486": "x86", "i586": "x86", "i686": "x86"},
    macros={"__x86_64__": "x86_64", "__i386__": "x86"},
    detection="x86",
    kinds=(CPUID,),
    read_state=read_state,
    oldest_cpu=OLDEST_CPU,
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
    machine=_this_machine,
)
