"""s390x (IBM Z): levels from z13's vector instructions, detected by what Linux reports."""

from __future__ import annotations

from ...binary.contents import RelocationTypes
from ..decoding import Abi
from ..machines import Machine
from ..processor import DecodableCode, Processor

# Relocation types in ELF (s390x ELF Application Binary Interface Supplement, "Relocation").
R32, PC32, R64, PC64, GLOB_DAT, JMP_SLOT, RELATIVE, IRELATIVE = 4, 5, 22, 23, 10, 11, 12, 61
# GOT12, GOT32, GOT16, GOT64, GOTENT, GOTPLT12 to GOTPLTENT, GOT20, GOTPLT20
THROUGH_GOT = frozenset({6, 7, 15, 24, 26, *range(29, 34), 58, 59})
# PC16DBL, PLT16DBL, PC32DBL, PLT32DBL, GOTENT, GOTPLTENT write the distance from the instruction's start, two bytes
# before the relocated place, so their addends contain these two bytes. They count as absolute.
IN_INSTRUCTIONS = {17: 2, 18: 2, 19: 2, 20: 2, 26: 2, 33: 2}
RELOCATIONS = RelocationTypes(
    absolute=THROUGH_GOT | {*IN_INSTRUCTIONS, R32, R64},
    relative=frozenset({PC32, PC64, 8, 25}),  # and PLT32, PLT64
    through_slot=THROUGH_GOT,
    slot=frozenset({R64, GLOB_DAT, JMP_SLOT}),
    rebased=RELATIVE,
    resolved=IRELATIVE,
    parts=frozenset({0, 37, 38, 39}),  # NONE, and marks of thread-local storage
    after_start=IN_INSTRUCTIONS,
)
# s390x ELF Application Binary Interface Supplement, "Registers": general registers by number.
ELF = Abi(
    machine=22,  # EM_S390
    order="big",
    relocations=RELOCATIONS,
    arguments=tuple(f"r{number}" for number in range(2, 7)),
    preserved=tuple(f"r{number}" for number in (*range(6, 14), 15)),
)

PROCESSOR = Processor(
    name="s390x",
    cpu_family="s390x",
    macros={"__s390x__": "s390x"},
    baseline_table="z",
    decodable=DecodableCode("s390x", {"elf": ELF}, f"{__package__}.decoder:S390xDecoder", defined=("__s390x__",)),
    machine=Machine,
)
