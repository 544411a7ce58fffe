"""The hot loop of a copy is the one that makes most use of what its level adds, in compiled objects."""

import subprocess
from dataclasses import replace

import pytest

from isagen.matrix.loops import LONGEST, hot_loop, hot_loops
from isagen.matrix.words import own_features
from support.matrices import BASELINE, LEVELS, features_of, flags_of, matrix_of
from support.projects import need

SOURCE = """
#include <stddef.h>
#include <stdint.h>
int32_t dot(const uint8_t *a, const int8_t *b, size_t n) {
  int32_t sum = 0;
  for (size_t i = 0; i < n; i++) sum += a[i] * b[i];
  return sum;
}
void scale(float *a, size_t n) { for (size_t i = 0; i < n; i++) a[i] *= 3; }
"""
# The loop before and after use no feature; the one inside is the innermost, and has two instructions of AVX2's.
LOOPS = """
.intel_syntax noprefix
.globl work
.type work, @function
work:
1: add rax, 1
   cmp rax, rcx
   jb 1b
2: vpaddd ymm0, ymm0, [rdi]
3: vpaddd ymm1, ymm1, [rsi]
   vmulps ymm2, ymm2, ymm3
   call helper
   cmp rax, rdx
   jb 3b
   cmp rax, rcx
   jb 2b
   ret
.size work, . - work
.section .note.GNU-stack, "", @progbits
"""


def compiled(folder, compiler, source, kind, *flags):
    need(compiler)
    text, made = folder / f"kernel{kind}", folder / "kernel.o"
    text.write_text(source)
    subprocess.run([compiler, *flags, "-c", text, "-o", made], check=True)
    return made


def loop_of(path, own, baseline):
    return hot_loop(path, "x86", own, baseline)


def own_at(level):
    return LEVELS[level][0]


def mnemonics(loop):
    return [one.text.split()[0] for one in loop.instructions]


@pytest.mark.parametrize("compiler", ["gcc", "clang-16"])
@pytest.mark.parametrize("level", ["AVX2", "AVX512", "AVX512_VNNI"])
def test_the_loop_of_real_kernels(tmp_path, compiler, level):
    made = compiled(tmp_path, compiler, SOURCE, ".c", "-O3", "-fPIC", *flags_of(level))
    loop = loop_of(made, own_at(level), BASELINE)
    assert loop.function in ("dot", "scale")
    own = [one for one in loop.instructions if set(one.features) & set(own_at(level))]
    assert own
    assert all(set(one.features) <= set(features_of(level)) - set(BASELINE) for one in loop.instructions)
    # It ends in the branch to its first instruction, and offsets grow.
    offsets = [one.offset for one in loop.instructions]
    assert offsets == sorted(set(offsets))
    assert loop.instructions[-1].text.split()[0].startswith("j")
    assert loop.instructions[-1].text.endswith(f"0x{offsets[0]:X}")
    if level == "AVX512_VNNI":
        assert loop.function == "dot"
        assert [name for name in mnemonics(loop) if name.startswith("vpdp")]
    if level != "AVX2":
        assert any("zmm" in one.text for one in own) or level == "AVX512_VNNI"


def test_offsets_are_those_of_objdump(tmp_path):
    need("objdump")
    made = compiled(tmp_path, "gcc", SOURCE, ".c", "-O3", "-fPIC", *flags_of("AVX2"))
    loop = loop_of(made, own_at("AVX2"), BASELINE)
    command = ["objdump", "-d", "-M", "intel", "--no-show-raw-insn", f"--disassemble={loop.function}", made]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    start = next(int(line.split()[0], 16) for line in said if line.endswith(f"<{loop.function}>:"))
    there = {}
    for line in said:
        place, colon, text = line.strip().partition(":\t")
        if colon:
            there[int(place, 16) - start] = text.split()[0]
    assert [there[one.offset] for one in loop.instructions] == mnemonics(loop)


def test_the_innermost_loop_with_most_of_the_level(tmp_path):
    loop = loop_of(compiled(tmp_path, "gcc", LOOPS, ".s"), ("avx2",), BASELINE)
    assert loop.function == "work"
    assert mnemonics(loop) == ["vpaddd", "vmulps", "call", "cmp", "jb"]
    assert [one.features for one in loop.instructions] == [("avx2",), ("avx",), (), (), ()]
    assert loop.instructions[2].text.endswith("; helper")


def test_the_remainder_s_loop_is_not_the_hot_one(tmp_path):
    """Two of its three instructions are of the level, and 7 of 12 in the main loop."""
    add = "vpaddd ymm0, ymm0, [rdi]\n"
    loops = f"1: {add * 7}add rax, 1\nnop\nnop\ncmp rax, rcx\njb 1b\n2: {add * 2}jb 2b\nret\n"
    source = f".intel_syntax noprefix\n.globl f\n.type f, @function\nf:\n{loops}.size f, . - f\n"
    made = compiled(tmp_path, "gcc", source + '.section .note.GNU-stack, "", @progbits\n', ".s")
    assert len(loop_of(made, ("avx2",), BASELINE).instructions) == 12


def test_without_code_of_the_level_the_widest_loop_counts(tmp_path):
    made = compiled(tmp_path, "gcc", LOOPS, ".s")
    assert mnemonics(loop_of(made, ("avx512_f",), BASELINE))[0] == "vpaddd"
    assert mnemonics(loop_of(made, (), (*BASELINE, "avx", "avx2")))[0] == "vpaddd"


def test_no_loop(tmp_path):
    assert loop_of(compiled(tmp_path, "gcc", "int f(int x) { return x + 1; }", ".c", "-O2"), (), BASELINE) is None
    long = ".globl f\n.type f, @function\nf:\n1:\n" + "nop\n" * LONGEST + "jmp 1b\n.size f, . - f\n"
    note = '.section .note.GNU-stack, "", @progbits\n'
    assert loop_of(compiled(tmp_path, "gcc", long + note, ".s"), (), BASELINE) is None


@pytest.mark.parametrize(
    "body",
    [
        # A jump to another object: the linker writes over what looks like a distance back.
        "nop\n.byte 0xe9\n.reloc ., R_X86_64_PLT32, g - 4\n.long -6",
        # A block behind the function's return, which goes on before it.
        "test eax, eax\nje 2f\n1: ret\n2: vpaddd ymm0, ymm0, [rdi]\njmp 1b",
    ],
)
def test_jumps_back_that_are_no_loops(tmp_path, body):
    source = f".intel_syntax noprefix\n.globl f\n.type f, @function\nf:\n{body}\n.size f, . - f\n"
    made = compiled(tmp_path, "gcc", source + '.section .note.GNU-stack, "", @progbits\n', ".s")
    assert loop_of(made, ("avx2",), BASELINE) is None


def test_code_that_is_not_decoded(tmp_path):
    made = compiled(tmp_path, "riscv64-linux-gnu-gcc", "void f(int *a) { for (;;) ++*a; }", ".c", "-O2")
    matrix = matrix_of(1)
    assert hot_loops(matrix, {(matrix.kernels[0].source, "AVX2"): made}) == {}


def test_a_loop_of_arm64(tmp_path):
    """What needs one of several features is the level's own if it has one of them."""
    code = "void f(float *a, int n) { for (int i = 0; i < n; i++) a[i] = a[i] * 2 + 1; }"
    made = compiled(tmp_path, "aarch64-linux-gnu-gcc", code, ".c", "-O3", "-march=armv8.2-a+sve")
    loop = hot_loop(made, "arm64", ("sve",), ())
    assert loop is not None
    assert ("sve or sme",) in {instruction.features for instruction in loop.instructions}
    assert any(instruction.text.startswith("fm") for instruction in loop.instructions)


def test_own_features_are_those_that_no_lower_level_has():
    matrix = matrix_of(1)
    assert own_features(matrix, matrix.level("AVX512")) == own_at("AVX512")
    assert own_features(matrix, matrix.level("AMX")) == own_at("AMX")
    assert own_features(matrix, matrix.level("DEFAULT")) == BASELINE


def test_the_same_code_is_searched_once(tmp_path):
    """A copy with the code of a lower one has its loop: its object is not opened."""
    matrix = matrix_of(1)
    kernel = matrix.kernels[0]
    cells = {**kernel.levels, "AVX512": replace(kernel.levels["AVX512"], same_as="AVX2")}
    matrix = replace(matrix, kernels=(replace(kernel, levels=cells),))
    made, gone = compiled(tmp_path, "gcc", LOOPS, ".s"), tmp_path / "gone.o"
    found = hot_loops(matrix, {(kernel.source, "AVX2"): made, (kernel.source, "AVX512"): gone})
    assert found.keys() == {(kernel.source, "AVX2"), (kernel.source, "AVX512")}
    assert len(set(found.values())) == 1
