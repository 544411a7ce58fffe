"""The table of s390x's encodings against llvm-mc, facility by facility."""

import random

from isagen.processors.s390x import ELF
from isagen.processors.s390x.decoder import S390xDecoder
from isagen.processors.s390x.fields import BITS, size
from support.llvm_mc import LlvmMc
from support.projects import need

DECODER = S390xDecoder(ELF)
LLVM = LlvmMc(
    "s390x",
    always=(),
    as_bytes=lambda word: (word >> BITS - 8 * size(word >> 40)).to_bytes(size(word >> 40), "big"),
    free=lambda value: (1 << BITS) - 1,
)


def facilities() -> list[str]:
    return sorted(LLVM.features() - {"soft-float", "backchain"})


def test_every_row_needs_what_llvm_says():
    need("llvm-mc-16")
    compared, known = LLVM.check_rows(DECODER.encodings, facilities())
    assert compared > 0.9 * known > 3500


def test_words_that_are_no_instructions():
    need("llvm-mc-16")
    chance, words = random.Random(2), []
    for first in range(256):
        bits = 8 * size(first)
        words += [(first << bits - 8 | chance.getrandbits(bits - 8)) << BITS - bits for _ in range(80)]
    unknown, valid = LLVM.valid(DECODER.encodings, words, facilities())
    assert not valid
    assert unknown > 5000
