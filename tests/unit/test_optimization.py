"""The options that let compilers vectorise kernels, and what people are told where no level gains."""

import pytest

from isagen.model.matrix import Code, is_plain
from isagen.model.optimization import VECTORISER, optimization_of, reason_for_plain_code, vectoriser


@pytest.mark.parametrize(
    ("option", "args", "found"),
    [
        ("2", [], "-O2"),
        ("plain", [], ""),
        ("plain", ["-g", "-O2"], "-O2"),
        ("3", ["-O1", "-Os", "-Wall"], "-Os"),
        ("g", [], "-Og"),
    ],
)
def test_the_last_option_counts(option, args, found):
    assert optimization_of(option, args) == found


@pytest.mark.parametrize(
    ("compiler", "option", "args", "adds"),
    [
        ("gcc", "2", [], True),
        ("gcc", "plain", ["-O2"], True),
        ("gcc", "3", [], False),
        ("gcc", "3", ["-O2"], True),
        ("gcc", "2", ["-O3"], False),
        ("gcc", "0", [], False),
        ("gcc", "s", [], False),
        ("clang", "2", [], False),
        ("msvc", "2", [], False),
        ("gcc", "2", ["-fno-tree-vectorize"], False),
        ("gcc", "2", ["-ftree-slp-vectorize"], False),
        ("gcc", "2", ["-fvect-cost-model=cheap"], False),
        ("gcc", "2", ["-ftree-loop-distribution"], True),
    ],
)
def test_gcc_gets_the_vectoriser_at_o2_unless_arguments_choose(compiler, option, args, adds):
    assert vectoriser(compiler, option, args) == (VECTORISER if adds else ())


def code(*families, instructions=9, widest=128):
    return Code(9, 9, instructions, widest, dict.fromkeys(families, 1), "digest")


@pytest.mark.parametrize(
    ("levels", "plain"),
    [
        ([[code()], [code()]], True),
        ([[code("SSE3")], [code("SSE3")], []], True),
        ([[code()], [code("AVX2")]], False),
        ([[code()], [code()], [code(), code("AVX512F")]], False),
        ([[code()], [code(instructions=None)]], False),
        ([[code()], [None]], False),
        ([[code()], []], False),
        ([[code()]], False),
        ([[], []], False),
    ],
)
def test_levels_that_use_none_of_their_instructions(levels, plain):
    assert is_plain(levels) is plain


def test_the_reason_names_a_remedy_that_helps():
    assert "buildtype=release" in reason_for_plain_code("-O0")
    assert "buildtype=release" in reason_for_plain_code("")
    assert "buildtype" not in reason_for_plain_code("-O3")
    assert "beyond" not in reason_for_plain_code("-O3")
    assert reason_for_plain_code("-O3", "cpp_args: -march=native").endswith(
        "of higher levels beyond those of the baseline (cpp_args: -march=native)"
    )


@pytest.mark.parametrize(
    ("levels", "narrow"),
    [
        ([[code()], [code("AVX")]], True),
        ([[code(), code(widest=0)], [code("AVX", widest=0), code("AVX")]], True),
        ([[code()], [code("AVX2", widest=256)]], False),
        ([[code(), code()], [code("AVX"), code("AVX", widest=256)]], False),
        ([[code()], [code(instructions=None)]], False),
        ([[code()], []], False),
    ],
)
def test_levels_without_wider_vectors(levels, narrow):
    assert is_plain(levels, by_width=True) is narrow
