"""kernels/vec.h and kernels/parallel.h without isagen: for every width, by every compiler, and with sanitizers."""

import platform
import re
import shutil

import pytest

from support.checkout import ROOT
from support.compiling import need_runtime
from support.pairs import paired
from support.projects import need
from support.vectors import COMPILERS, FORMS, SANITIZERS, WARNINGS, build, run, runs_here


@pytest.mark.parametrize(("compiler", "form"), [*paired(COMPILERS[:1], FORMS), *paired(COMPILERS[1:], FORMS)])
def test_every_operation(compiler, form, tmp_path):
    build(compiler, form, tmp_path / "vec", "-O2", *([] if compiler == "g++" else ["-DFEW_TYPES"]))
    if not runs_here(form):
        pytest.skip(f"compiled, but not run: this CPU does not support {form}")
    assert run(tmp_path / "vec").stdout.endswith(" 0 failures\n")


@pytest.mark.parametrize(("compiler", "optimization"), paired(["g++", "g++-11"], ["-O1", "-O2", "-O3"]))
def test_x87_arithmetic(compiler, optimization, tmp_path):
    """As on an i386 without SSE, whose registers hold more than a float or a double."""
    if platform.machine() not in ("x86_64", "AMD64"):
        pytest.skip("x87 arithmetic is x86's")
    build(compiler, "scalar", tmp_path / "vec", optimization, "-mfpmath=387")
    assert run(tmp_path / "vec", check=False).stdout.endswith(" 0 failures\n")


FMADD = """
#include "vec/memory.h"
template <typename T> static void add_product(T *to, const T *a, const T *b)
{
  using Vec = vec::Vectorized<T>;
  fmadd(Vec::loadu(a), Vec::loadu(b), Vec::loadu(to)).store(to);
}
void floats(float *to, const float *a, const float *b) { add_product(to, a, b); }
void doubles(double *to, const double *a, const double *b) { add_product(to, a, b); }
"""
# Levels with an instruction for it: the form, more flags, and the instruction's name.
FUSED = {
    "x86, scalar": ("scalar", ["-mfma"], r"vfmadd\d+s[sd]"),
    "x86, 16 bytes": ("DEFAULT", ["-mfma"], r"vfmadd\d+p[sd]"),
    "AVX2": ("AVX2", [], r"vfmadd\d+p[sd]"),
    "AVX512": ("AVX512", [], r"vfmadd\d+p[sd]"),
    "aarch64, scalar": ("scalar", [], "fmadd"),
    "aarch64": ("DEFAULT", [], "fmla"),
}


@pytest.mark.parametrize("place", FUSED)
@pytest.mark.parametrize("compiler", COMPILERS)
def test_fmadd_is_one_instruction(compiler, place, tmp_path):
    form, flags, instruction = FUSED[place]
    if place.startswith("aarch64"):
        if compiler.startswith("clang"):
            flags = ["--target=aarch64-linux-gnu", "-ffreestanding"]  # without that architecture's headers
        elif compiler == "g++":
            compiler = "aarch64-linux-gnu-g++"
        else:
            pytest.skip("one GCC for aarch64 is enough")
    (tmp_path / "fmadd.cpp").write_text(FMADD)
    build(compiler, form, tmp_path / "fmadd.s", "-O2", *flags, "-S", source=tmp_path / "fmadd.cpp")
    code = (tmp_path / "fmadd.s").read_text()
    assert len(re.findall(rf"^\s+{instruction}\s", code, re.MULTILINE)) == 2, code


ONE = """
#include "vec/memory.h"
uint32_t load(const uint32_t *from) { return vec::load_one(from); }
void store(uint32_t value, uint32_t *to) { vec::store_one(value, to); }
"""


@pytest.mark.parametrize("compiler", [name for name in COMPILERS if name.startswith("clang")])
def test_single_elements_may_lie_at_any_address(compiler, tmp_path):
    """Clang infers alignment from the types of memcpy's arguments, on which some instructions rely."""
    need(compiler)
    (tmp_path / "one.cpp").write_text(ONE)
    code = run(compiler, *WARNINGS, "-O1", "-S", "-emit-llvm", tmp_path / "one.cpp", "-o", "-").stdout
    accesses = [line for line in code.splitlines() if " load i32" in line or " store i32" in line]
    assert len(accesses) == 2
    assert all("align 1" in line for line in accesses), accesses


def test_a_wrong_operation_is_noticed(tmp_path):
    """The test program itself: with two lanes exchanged in one operation it fails."""
    need("g++")
    shutil.copytree(ROOT / "kernels", tmp_path / "kernels")
    header = tmp_path / "kernels/vec/shuffle.h"
    text = header.read_text()
    assert text.count("(2 * i + 1)") == 1
    header.write_text(text.replace("(2 * i + 1)", "((2 * i + 1) ^ 2)"))
    run("g++", "-std=c++17", "-I", tmp_path / "kernels", ROOT / "tests/cpp/vec.cpp", "-o", tmp_path / "vec")
    done = run(tmp_path / "vec", check=False)
    assert done.returncode == 1
    assert "back.second" in done.stdout


@pytest.mark.parametrize(
    ("compiler", "flags"),
    [("g++", []), ("g++", SANITIZERS), ("g++", ["-fsanitize=thread"]), *((one, []) for one in COMPILERS[1:])],
)
def test_parallel_for(compiler, flags, tmp_path):
    """Every unit exactly once, ranges of a grain or more, in as many threads as were asked for."""
    need_runtime(compiler, *flags)
    build(compiler, "DEFAULT", tmp_path / "parallel", "-O1", "-pthread", *flags, source="parallel.cpp")
    assert run("env", "OMP_NUM_THREADS=3", tmp_path / "parallel").stdout == "default 3\n"
