"""Levels gain at the optimization that distributions use, and where none gains, people are told."""

import pytest

from support.projects import matrix, need

NOTE = "no kernel uses an instruction that DEFAULT lacks"


def codes(scaffold):
    """The digests of the code of the kernel with a loop, by level that is built."""
    (kernel,) = [one for one in matrix(scaffold)["kernels"] if one["source"] == "kernels/dot.cpp"]
    return {level: cell["code"]["digest"] for level, cell in kernel["levels"].items() if cell["code"]}


@pytest.mark.parametrize("compiler", ["g++", "g++-11", "clang++-16"])
def test_a_loop_is_vectorised_for_each_level_at_o2(scaffold, compiler):
    need(compiler)
    scaffold.setup("-Disa_levels=AVX2,AVX512", "--buildtype=plain", CXX=compiler, CXXFLAGS="-O2 -g")
    assert NOTE not in scaffold.ninja()
    assert len(set(codes(scaffold).values())) == 3
    assert NOTE not in scaffold.isagen("matrix", "build").stdout


def test_the_baseline_may_contain_what_levels_add(scaffold):
    scaffold.setup("-Disa_levels=AVX2", "-Doptimization=3", CXXFLAGS="-march=haswell")
    reason = "beyond those of the baseline (cpp_args: -march=haswell)"
    assert reason in scaffold.ninja()
    assert reason in " ".join(scaffold.isagen("matrix", "build").stdout.split())


@pytest.mark.parametrize(
    ("options", "remedy"),
    [
        (["-Doptimization=0"], "-O0 vectorises hardly any loop: configure with -Dbuildtype=release"),
        (["--buildtype=plain"], "without -O vectorises hardly any loop: configure with -Dbuildtype=release"),
        (
            ["-Dbuildtype=release", "-Dcpp_args=-O1"],
            "-O1 vectorises hardly any loop: configure with -Dbuildtype=release and without -O1 in CFLAGS and CXXFLAGS",
        ),
        (["-Doptimization=2", "-Dcpp_args=-fno-tree-vectorize"], "at -O2, the compiler finds no use for"),
    ],
)
def test_levels_that_gain_nothing_are_told_of(scaffold, options, remedy):
    said = scaffold.setup("-Disa_levels=AVX2,AVX512", *options)
    assert ("-O0 vectorises hardly any loop" in said) is ("-Doptimization=0" in options)
    assert ("a compiler without -O vectorises hardly any loop" in said) is ("--buildtype=plain" in options)
    assert f"isagen: note: {NOTE}: " in (built := scaffold.ninja())
    assert remedy in built
    assert remedy in " ".join(scaffold.isagen("matrix", "build").stdout.split())
    why = " ".join(scaffold.isagen("why", "AVX2", "dot.cpp", "build").stdout.split())
    assert (remedy in why) is ("buildtype=release" in remedy)
    assert NOTE in " ".join(scaffold.isagen("why", "AVX2", "build").stdout.split())


def test_scalar_code_on_floats_is_told_of_although_avx_has_its_own(scaffold):
    scaffold.edit("kernels/dot.cpp", "int32_t sum = 0", "float sum = 0")
    scaffold.edit("kernels/dot.cpp", "sum += a[i]", "sum += 0.5f * a[i]")
    scaffold.setup("-Disa_levels=AVX2,AVX512", "-Doptimization=1")
    note = "no kernel uses wider vectors than at DEFAULT: -O1 vectorises hardly any loop"
    assert note in scaffold.ninja()
    assert note in " ".join(scaffold.isagen("matrix", "build").stdout.split())
