"""Known errors of compilers, on the compilers at hand, and what a build says about them."""

import subprocess

import pytest

from isagen.probe.compiler import Compiler, find_compiler
from isagen.processors.features import read_features
from support.levels import ALL, lacks
from support.projects import need, verdicts

BF16 = r"""
#include <immintrin.h>
__attribute__((noinline)) static __m512 run(__m512 sum, __mmask16 mask, __m512bh a, __m512bh b)
{
  return _mm512_mask_dpbf16_ps(sum, mask, a, b);
}
int main(void)
{
  volatile unsigned upper = 0xff00;
  float out[16];
  __m512bh ones = _mm512_cvtne2ps_pbh(_mm512_set1_ps(1.0f), _mm512_set1_ps(1.0f));
  _mm512_storeu_ps(out, run(_mm512_setzero_ps(), (__mmask16)upper, ones, ones));
  return out[15] != 2.0f;
}
"""
FLAGS = ["-O2", "-mavx512f", "-mavx512bw", "-mavx512vl", "-mavx512dq", "-mavx512bf16"]


@pytest.mark.parametrize("command", ["gcc-11", "gcc-12", "gcc-13", "gcc-14", "gcc-15", "clang-14", "clang-16"])
def test_masked_dot_product_of_bf16(tmp_path, command):
    need(command)
    if missing := lacks(["avx512_bf16", "avx512_bw", "avx512_vl", "avx512_dq"]):
        pytest.skip(f"CPU or OS lack {' '.join(missing)}")
    one = find_compiler("c", [command])
    (error,) = (error for error in read_features("x86").known_broken if "126429" in error.url)
    (tmp_path / "dot.c").write_text(BF16)
    program = tmp_path / "dot"
    subprocess.run([command, *FLAGS, str(tmp_path / "dot.c"), "-o", str(program)], check=True)
    wrong = subprocess.run([str(program)], check=False).returncode != 0
    known = error.concerns(one.id, one.version, (), [error.feature])
    assert known or not wrong, f"{one.name} has the error, and the data does not say so"
    # Distributions mend errors in versions that have them.
    assert wrong or not known or one.version.partition(".")[0] not in ("11", "12")


def test_a_build_warns_only_about_a_kernel_that_contains_what_is_broken(scaffold):
    need("g++-12")
    one = find_compiler("cpp", ["g++-12"])
    if not any(error.concerns("gcc", one.version, (), ["avx512_bf16"]) for error in read_features("x86").known_broken):
        pytest.skip(f"{one.name} has no known error")
    assert "126429" not in scaffold.setup(CXX="g++-12")
    kernel = next(path for path in scaffold.folder.rglob("dot.cpp") if "build" not in path.parts)
    kernel.write_text(kernel.read_text() + "\n// not _mm512_mask_dpbf16_ps\n")
    said = scaffold.setup("--reconfigure", CXX="g++-12")
    assert f"dot.cpp contains _mm512_mask_dpbf16_ps, which {one.name} miscompiles at AVX512_BF16 " in said
    matrix = " ".join(scaffold.isagen("matrix", "build").stdout.split())
    assert f"at AVX512_BF16 AVX512_FP16 AMX: {one.name}: the masked 512-bit dot products" in matrix
    why = " ".join(scaffold.isagen("why", "AVX512_BF16", "build").stdout.split())
    assert f"known bug: {one.name}: the masked 512-bit dot products" in why


def test_a_build_goes_on_with_a_compiler_that_gains_an_unknown_macro(scaffold, tmp_path):
    """The wrapper adds one to each compilation at AVX512_VNNI and above."""
    wrapper = tmp_path / "newer-g++"
    wrapper.write_text('#!/bin/sh\ncase "$*" in *-mavx512vnni*) exec g++ -D__NOVEL__=1 "$@" ;; esac\nexec g++ "$@"\n')
    wrapper.chmod(0o755)
    said = scaffold.setup(CXX=str(wrapper))
    assert "AVX512_VNNI: unavailable: its flags turn on __NOVEL__, which no feature names" in said
    scaffold.ninja()
    above = ["AVX512_VNNI", "AVX512_BF16", "AVX512_FP16", "AMX"]
    assert verdicts(scaffold) == {**dict.fromkeys(ALL, "built"), **dict.fromkeys(above, "unavailable")}


def test_a_compiler_that_does_not_say_its_minor_version():
    """Debian's GCC for Windows; Meson and the compiler's macros put 12.0.0."""
    command = "x86_64-w64-mingw32-gcc"
    need(command)
    said = subprocess.run([command, "-dumpfullversion"], capture_output=True, text=True, check=True).stdout.strip()
    assert Compiler("c", (command,), "gcc", "12.0.0").with_own_version().version == said
    assert find_compiler("c", [command]).version == said
