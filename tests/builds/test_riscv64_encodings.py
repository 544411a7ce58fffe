"""The table of riscv64's encodings against llvm-mc, feature by feature."""

import random
import subprocess

from isagen.processors.features import read_features
from isagen.processors.riscv64 import ELF
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


HALVES = """
  vfadd.vv v0, v1, v2
  vsetvli zero, a0, e32, m1, ta, ma
  vfadd.vv v0, v1, v2
  vfwcvt.f.x.v v2, v1
  vsetivli zero, 4, e16, mf2, ta, ma
  vadd.vv v0, v1, v2
  vfadd.vv v0, v1, v2
  beqz a0, 1f
  vfmacc.vf v0, fa0, v2
1:
  vfncvt.f.f.w v0, v2
  vfncvt.rtz.x.f.w v0, v2
  vfwcvt.f.x.v v2, v1
  vsetivli zero, 4, e8, mf4, ta, ma
  vfwcvt.f.x.v v2, v1
  vfwcvt.x.f.v v2, v1
  vsetvl zero, a0, a1
  vfadd.vv v0, v1, v2
  vsetivli zero, 4, e16, mf2, ta, ma
  ret
  vfadd.vv v0, v1, v2
"""


def test_vectors_of_half_precision(tmp_path):
    """Their instructions are those of other numbers: the size of elements that is set before tells."""
    need("clang-16", "riscv64-linux-gnu-objcopy")
    command = ["clang-16", "--target=riscv64-linux-gnu", "-march=rv64gcv", "-mno-relax", "-c", "-xassembler", "-"]
    subprocess.run([*command, "-o", "x.o"], cwd=tmp_path, input=HALVES, text=True, check=True)
    subprocess.run(["riscv64-linux-gnu-objcopy", "-Obinary", "-j.text", "x.o", "x"], cwd=tmp_path, check=True)
    raw = (tmp_path / "x").read_bytes()
    needs = DECODER.needs(read_features("riscv64").instructions)
    found = [
        (DECODER.encodings.forms[one.code].mnemonic, *sorted(needs[one.code] - {"v"}))
        for one in DECODER.decode(raw, 0)
        if len(needs.get(one.code, ())) > 1
    ]
    assert found == [
        ("vfadd.vv", "zvfh"),
        ("vfmacc.vf", "zvfh"),
        ("vfncvt.f.f.w", "zvfhmin or zvfh"),
        ("vfwcvt.f.x.v", "zvfh"),
    ]
    assert DECODER.codes(raw, 0) == {one.code for one in DECODER.decode(raw, 0)}
