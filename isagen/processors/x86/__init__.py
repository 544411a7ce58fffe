"""x86 and x86-64."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from ..decoding import Decoder
from ..machines import Machine, Registers
from ..processor import DecodableCode, OldestCpu, Processor

# GCC forgets with arch= all that the command line turns on. Clang forgets only what -march= does, and not -mavx512f or
# what it makes of -march=native. So what it uses without being asked by an intrinsic is turned off by name; SSE3 stands
# for all vector extensions above it, which turn off with it. Clang 14 knows the names but for those of APX.
OLDEST_CPU = OldestCpu(
    macro="__x86_64__",
    gcc="arch=x86-64",
    clang="arch=x86-64,no-sse3,no-cx16,no-sahf,no-popcnt,no-lzcnt,no-bmi,no-bmi2,no-tbm,no-movbe,no-adx,no-gfni",
    clang_where=("__APX_F__", ",no-egpr,no-push2pop2,no-ppx,no-ndd,no-ccmp,no-nf,no-cf,no-zu"),
)


# The modules of iced-x86 whose numbers the decoder asks for, beside its compiled part.
NUMBERS = ("Code", "CpuidFeature", "FormatterSyntax", "Mnemonic", "OpCodeOperandKind")


def _decoder(kept: Mapping[str, tuple[int, ...]] | None = None) -> Decoder:
    from .decoder import X86Decoder

    return X86Decoder(kept)


def _codes() -> Callable[[bytes], Iterator[int]]:
    from .iced import codes_in

    return codes_in


def _decoder_folder() -> Path | None:
    from importlib.machinery import EXTENSION_SUFFIXES
    from importlib.util import find_spec
    from pathlib import Path

    found = find_spec("iced_x86")  # it is not loaded: configuring copies it
    folder = Path(found.origin).parent if found is not None and found.origin is not None else None
    if folder is None or not any((folder / f"_iced_x86_py{suffix}").is_file() for suffix in EXTENSION_SUFFIXES):
        return None  # or it was built for another Python
    return folder


def _decoder_parts() -> Sequence[str]:
    folder = _decoder_folder()
    names = sorted(os.listdir(folder)) if folder is not None else []
    wanted = {f"{kind}.py" for kind in NUMBERS}
    return [name for name in names if name in wanted or (name.startswith("_iced_x86_py") and name[-4:] != ".pyi")]


def _decoder_files() -> Sequence[str]:
    from . import iced, instructions

    return [instructions.__file__, *iced.files()]


def _registers(machine: Machine) -> Registers:
    from .registers import X86Registers

    return X86Registers(machine)


def _this_machine() -> Machine:
    from .machine import ThisMachine

    return ThisMachine()


PROCESSOR = Processor(
    name="x86",
    home=os.path.dirname(__file__),
    cpu_families=("x86", "x86_64"),
    default_tables={"x86_64": "x86"},
    spellings={"amd64": "x86_64", "i386": "x86", "i486": "x86", "i586": "x86", "i686": "x86"},
    macros={"__x86_64__": "x86_64", "__i386__": "x86"},
    detection="x86",
    oldest_cpu=OLDEST_CPU,
    baseline_table="x86-64",
    decodable=DecodableCode(
        "x86-64",
        distribution="iced-x86",
        binaries=(("elf", 62, 64, "little"),),  # EM_X86_64
        defined=("__x86_64__",),
        undefined=("__ILP32__",),
    ),
    decoder=_decoder,
    codes=_codes,
    decoder_folder=_decoder_folder,
    decoder_parts=_decoder_parts,
    decoder_files=_decoder_files,
    registers=_registers,
    this_machine=_this_machine,
)
