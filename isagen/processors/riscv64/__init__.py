"""riscv64: levels with bit manipulation (Zba, Zbb) and vectors (V, Zvfh), detected by what Linux reports."""

from __future__ import annotations

from ...binary.contents import RelocationTypes
from ..decoding import Abi
from ..processor import DecodableCode, Processor
from .machine import HWPROBE, RiscvMachine

# Relocation types in ELF (RISC-V ABIs Specification, 8.5). Types for instructions write parts of an address, and count
# as absolute.
R64, RELATIVE, JUMP_SLOT, TLSDESC_CALL, IRELATIVE = 2, 3, 5, 65, 58
THROUGH_GOT = frozenset({20})  # GOT_HI20
# BRANCH, JAL, CALL, CALL_PLT, GOT_HI20, PCREL_HI20, HI20, RVC_BRANCH, RVC_JUMP
INSTRUCTIONS = frozenset({16, 17, 18, 19, 20, 23, 26, 44, 45})
# Types that write a further part of an address (PCREL_LO12, LO12, TPREL_LO12, TLSDESC); TPREL_ADD; subtrahends and
# numbers (SUB, SET); marks (ALIGN, RELAX).
PARTS = frozenset({0, 24, 25, 27, 28, 30, 31, 32, *range(37, 41), 43, *range(51, 57), 60, 61, 63, 64})
RELOCATIONS = RelocationTypes(
    absolute=INSTRUCTIONS | {1, R64},
    relative=frozenset({33, 34, 35, 36, 41, 57, 59}),  # ADD8 to ADD64, GOT32_PCREL, 32_PCREL, PLT32
    through_slot=THROUGH_GOT,
    slot=frozenset({R64, JUMP_SLOT}),
    rebased=RELATIVE,
    resolved=IRELATIVE,
    of_loader=frozenset({TLSDESC_CALL}),
    parts=PARTS,
)
# RISC-V ABIs Specification, 2.1: registers by number.
ELF = Abi(
    machine=243,  # EM_RISCV
    relocations=RELOCATIONS,
    arguments=tuple(f"x{number}" for number in range(10, 18)),
    preserved=tuple(f"x{number}" for number in (2, 3, 4, 8, 9, *range(18, 28))),
)

PROCESSOR = Processor(
    name="riscv64",
    cpu_family="riscv64",
    macros={"__riscv": "riscv64"},
    detection="riscv64",
    kinds=(HWPROBE,),
    baseline_table="rva",
    decodable=DecodableCode(
        "riscv64",
        abis={"elf": ELF},
        decoder=f"{__package__}.decoder:RiscvDecoder",
        defined=("__riscv", "__riscv_flen"),
        undefined=("__ILP32__",),
    ),
    machine=RiscvMachine,
)
