"""The table of riscv64's encodings against llvm-mc, feature by feature."""

import random

from isagen.processors.riscv64.abi import ELF
from isagen.processors.riscv64.decoder import RiscvDecoder
from support.llvm_mc import LlvmMc
from support.projects import need

DECODER = RiscvDecoder(ELF)


def is_short(word):
    return word & 3 != 3


LLVM = LlvmMc(
    "riscv64",
    always=("a", "c", "d", "f", "m"),
    as_bytes=lambda word: word.to_bytes(2 if is_short(word) else 4, "little"),
    free=lambda value: 0xFFFF if is_short(value) else 0xFFFFFFFF,
    # Registers are read by numbers, and hints are instructions without a destination.
    regular=lambda word: word & 127 != 0x73 and word & 0x7FFF != 0x6013,
    names={"zmmul": "m", "zaamo": "a", "zalrsc": "a", "zca": "c", "zcd": "c"},
)


def test_every_row_needs_what_llvm_says():
    need("llvm-mc-16")
    every = {name for name in LLVM.features() if name.startswith(("z", "v", "h", "experimental-", "sv"))}
    compared, known = LLVM.check_rows(DECODER.encodings, [*LLVM.always, *every])
    assert compared > 0.9 * known > 1000


def test_words_that_are_no_instructions():
    need("llvm-mc-16")
    chance = random.Random(2)
    words = [word if is_short(word) else word | chance.getrandbits(16) << 16 for word in range(1 << 16)]
    unknown, valid = LLVM.valid(DECODER.encodings, words, [*LLVM.always, "v"])
    assert not valid
    assert unknown > 5000
