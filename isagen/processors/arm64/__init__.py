"""arm64 (AArch64), little-endian: levels from NEON to SVE2, detected by what the OS reports."""

from __future__ import annotations

from dataclasses import replace

from ...binary.contents import RelocationTypes
from ..decoding import Abi
from ..machines import Machine
from ..processor import DecodableCode, Processor
from .flags import on_baseline

# Relocation types in ELF (Arm, "ELF for the Arm 64-bit Architecture", 5.7). Types for instructions write a part
# of an address or of the distance to it. They count as absolute.
ABS64, GLOB_DAT, JUMP_SLOT, RELATIVE, TLSDESC_CALL, IRELATIVE = 257, 1025, 1026, 1027, 569, 1032
THROUGH_GOT = frozenset({309, 310, 311, 312, 313})
INSTRUCTIONS = frozenset({*range(263, 294), 299})
RELOCATIONS = RelocationTypes(
    absolute=THROUGH_GOT | INSTRUCTIONS | {ABS64, 258},
    relative=frozenset({260, 261, 314}),  # PREL64, PREL32, PLT32
    through_slot=THROUGH_GOT,
    slot=frozenset({ABS64, GLOB_DAT, JUMP_SLOT}),
    rebased=RELATIVE,
    resolved=IRELATIVE,
    of_loader=frozenset({TLSDESC_CALL}),
)
# Arm, "Procedure Call Standard for the Arm 64-bit Architecture", 6.1.1.
ELF = Abi(
    machine=183,  # EM_AARCH64
    relocations=RELOCATIONS,
    arguments=tuple(f"X{number}" for number in range(8)),
    preserved=tuple(f"X{number}" for number in range(19, 30)),
)
# Mach-O (Apple's <mach-o/arm64/reloc.h>): UNSIGNED, BRANCH26, PAGE21, PAGEOFF12, GOT_LOAD_PAGE21, GOT_LOAD_PAGEOFF12,
# POINTER_TO_GOT, TLVP_LOAD_PAGE21, TLVP_LOAD_PAGEOFF12.
MACHO_THROUGH_SLOT = frozenset({5, 6, 8, 9})
MACHO_RELOCATIONS = RelocationTypes(
    absolute=MACHO_THROUGH_SLOT | {0, 2, 3, 4},
    relative=frozenset({7}),
    through_slot=MACHO_THROUGH_SLOT,
)
MACHO = replace(ELF, machine=0x0100000C, relocations=MACHO_RELOCATIONS)  # CPU_TYPE_ARM64
# Linked files of Windows (Microsoft, "Overview of ARM64 ABI conventions"). They have no relocations of instructions.
PE = replace(ELF, machine=0xAA64)  # IMAGE_FILE_MACHINE_ARM64

PROCESSOR = Processor(
    name="arm64",
    cpu_family="aarch64",
    spellings={"arm64": "aarch64"},
    macros={"__aarch64__": "aarch64"},
    level_flags=on_baseline,
    baseline_table="armv8",
    decodable=DecodableCode(
        "arm64",
        abis={"elf": ELF, "pe": PE, "macho": MACHO},
        decoder=f"{__package__}.decoder:Arm64Decoder",
        defined=("__aarch64__", "__AARCH64EL__"),
        undefined=("__ILP32__",),
    ),
    machine=Machine,
)
