"""The processor x86-64. 32-bit x86 has only its names here: the processor `generic` serves it."""

from __future__ import annotations

from dataclasses import replace

from ...binary.contents import RelocationTypes
from ..decoding import Abi
from ..processor import DecodableCode, Processor
from .machine import CPUID, ThisMachine, read_state

# Relocation types in ELF (x86-64 psABI 1.0, "Relocation Types"). THROUGH_GOT are GOTPCREL and its newer variants,
# of which the last three are for APX.
THROUGH_GOT = frozenset({9, 41, 42, 43, 46, 49})
R_64, GLOB_DAT, JUMP_SLOT, RELATIVE, IRELATIVE = 1, 6, 7, 8, 37
RELOCATIONS = RelocationTypes(
    absolute=frozenset({R_64, 10, 11}),  # 64, 32, 32S
    relative=THROUGH_GOT | {2, 4, 24, 44, 45},  # PC32, PLT32, PC64, CODE_4_GOTTPOFF, CODE_4_GOTPC32_TLSDESC
    through_slot=THROUGH_GOT,
    slot=frozenset({R_64, GLOB_DAT, JUMP_SLOT}),
    rebased=RELATIVE,
    resolved=IRELATIVE,
)
# System V ABI for x86-64, "Function Calling Sequence".
ELF = Abi(
    machine=62,  # EM_X86_64
    relocations=RELOCATIONS,
    arguments=("RDI", "RSI", "RDX", "RCX", "R8", "R9"),
    preserved=("RBX", "RSP", "RBP", "R12", "R13", "R14", "R15"),
)
# Relocation types in COFF (Microsoft, "PE Format", "x64 Processors").
COFF_RELOCATIONS = RelocationTypes(
    absolute=frozenset({1, 2, 3}),  # ADDR64, ADDR32, ADDR32NB
    relative=frozenset(range(4, 10)),  # REL32, REL32_1 to REL32_5
)
# Microsoft, "x64 calling convention".
COFF = Abi(
    machine=0x8664,
    relocations=COFF_RELOCATIONS,
    arguments=("RCX", "RDX", "R8", "R9"),
    preserved=("RBX", "RSP", "RBP", "RDI", "RSI", "R12", "R13", "R14", "R15"),
)
# Relocation types in Mach-O (Apple's <mach-o/x86_64/reloc.h>).
MACHO_THROUGH_SLOT = frozenset({3, 4, 9})  # GOT_LOAD, GOT, TLV
MACHO_RELOCATIONS = RelocationTypes(
    absolute=frozenset({0}),  # UNSIGNED
    relative=MACHO_THROUGH_SLOT | {1, 2, 6, 7, 8},  # SIGNED, BRANCH, SIGNED_1, SIGNED_2, SIGNED_4
    through_slot=MACHO_THROUGH_SLOT,
)
# macOS has the calling convention of System V.
MACHO = replace(ELF, machine=0x01000007, relocations=MACHO_RELOCATIONS)  # CPU_TYPE_X86_64

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
        abis={"elf": ELF, "coff": COFF, "pe": COFF, "macho": MACHO},
        decoder=f"{__package__}.decoder:X86Decoder",
        distribution="iced-x86",
        package="iced_x86",
        defined=("__x86_64__",),
        undefined=("__ILP32__",),
    ),
    machine=ThisMachine,
)
