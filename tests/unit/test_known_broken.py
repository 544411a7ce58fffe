"""Known errors of compilers: their data, the verdicts on levels, and warnings about kernels."""

from dataclasses import replace
from pathlib import Path

import pytest

from isagen.model.errors import TableError
from isagen.model.matrix import MatrixCompiler
from isagen.model.versions import in_range, older
from isagen.planning.known_bugs import bug_warnings, known_bugs
from isagen.probe.compiler import DISPLAY_NAME
from isagen.processors.features import read_features
from isagen.processors.known_broken import LEAVE_OUT, NOTE, KnownBroken
from isagen.processors.registry import builtin_tables, processor_names
from isagen.processors.table import load_table
from support.levels import levels_from
from support.plans import plan_of, verdicts_of
from support.probing import ask, calls, fake, table

ENTRY = """
[[known_broken]]
compiler = "gcc"
versions = ["{versions}"]
feature = "avx2"
effect = "{effect}"
reason = "it shuffles wrongly"
url = "https://example.org/1"
"""


# As SIMDe's simde-common.h (c285589af53d) and Highway's hwy/ops (239071390b18) have them: a part of the URL, compiler,
# versions that have the error, and versions that do not.
PEERS = [
    ("id=126429", "gcc", "11.3 12.2 13.4.9 14.3 15.3 16.1", "13.5 14.4 15.4 16.2 17.1"),
    ("id=100927", "gcc", "11.3 12.2 14.9", "15.1 16.1"),
    ("x86_512-inl.h#L4119", "gcc", "12.2 14.9", "15.1"),
    ("id=123584", "gcc", "15.1 15.2", "14.4 15.3 16.1"),
    ("id=121064", "gcc", "14.1 14.3 15.1", "13.5 14.4 15.2 16.1"),
    ("issues/179057", "clang", "21.1.1 22.0.9", "21.1.0 22.1.0"),
    ("ppc_vsx-inl.h#L451", "gcc", "11.3 12.2 16.1", ""),
    ("ppc_vsx-inl.h#L5705", "gcc", "11.3 12.2 16.1", ""),
    ("ppc_vsx-inl.h#L7421", "gcc", "11.3 12.2 16.1", ""),
]


def entry(versions: str = "<13", effect: str = LEAVE_OUT) -> str:
    return ENTRY.format(versions=versions, effect=effect)


@pytest.mark.parametrize("name", builtin_tables())
def test_each_entry_has_a_source(name):
    for error in load_table(name, Path()).features.known_broken:
        assert error.url.startswith("https://")
        assert error.compiler in DISPLAY_NAME
        assert error.versions


@pytest.mark.parametrize(("url", "compiler", "wrong", "right"), PEERS)
def test_versions_are_those_of_libraries_that_avoid_the_errors(url, compiler, wrong, right):
    """Their other errors of supported compilers are loud (an intrinsic that does not compile), or no program that was
    tried shows them: Clang 14, 16 and 19 on SVE, Clang 16 and 19 on BF16, Clang 16 on s390x and Power.
    """
    known = [error for name in processor_names() for error in read_features(name).known_broken]
    (error,) = (error for error in known if url in error.url)
    concerned = {one: error.concerns(compiler, one, (), [error.feature]) for one in f"{wrong} {right}".split()}
    assert concerned == {one: one in wrong.split() for one in concerned}


@pytest.mark.parametrize(
    ("version", "versions", "inside"),
    [
        ("12.2.0", "<13.5", True),
        ("13.5.0", "<13.5", False),
        ("13.4.9", "<13.5", True),
        ("14.3.1", ">=14, <14.4", True),
        ("13.5.0", ">=14, <14.4", False),
        ("14.4.0", ">=14,<14.4", False),
        ("99.0.0", ">=14", True),
        ("21.1.0", ">=21.1.1, <22.1", False),
        ("22.0.0", ">=21.1.1, <22.1", True),
        ("12-posix", "<13.5", True),
    ],
)
def test_ranges_of_versions(version, versions, inside):
    assert in_range(version, versions) == inside


@pytest.mark.parametrize(
    ("version", "minimum", "expected"),
    [
        ("11.1.0", "11.2", True),
        ("11.10.0", "11.2", False),
        ("12.0.0", "11.2", False),
        ("9.4.0", "10", True),
        ("12", "12.0.0", False),
        ("12-posix", "12.1", False),  # it does not say which 12 it is
        ("12-posix", "13", True),
    ],
)
def test_older(version, minimum, expected):
    assert older(version, minimum) == expected


def test_a_level_that_the_compiler_breaks_is_left_out_without_a_run(tmp_path):
    verdict = ask(table(tmp_path, 'features = ["avx2"]', tail=entry()), fake(tmp_path))
    assert not verdict.available
    assert verdict.reason == "GCC 12.2.0 is known to be broken: it shuffles wrongly (https://example.org/1)"
    assert calls(tmp_path, "-mavx2") == 0


@pytest.mark.parametrize(
    ("tail", "family"),
    [(entry("<12.2"), "gcc"), (entry(), "clang"), (entry(effect=NOTE), "gcc")],
    ids=["mended", "another compiler", "note"],
)
def test_other_levels_stay(tmp_path, tail, family):
    assert ask(table(tmp_path, 'features = ["avx2"]', tail=tail), fake(tmp_path, family=family)).available


def test_a_table_that_extends_another_has_the_errors_of_both(tmp_path):
    (tmp_path / "own.toml").write_text(f'extends = "x86"\n{entry()}')
    (tmp_path / "more.toml").write_text(f'extends = "own.toml"\n{entry("<14")}')
    base = load_table("x86", tmp_path).features.known_broken
    found = load_table("more.toml", tmp_path).features.known_broken
    assert found[: len(base)] == base
    assert [error.versions for error in found[len(base) :]] == [("<13",), ("<14",)]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (entry("13"), "known_broken[0].versions: '13' is not a range of versions"),
        (entry(""), "known_broken[0].versions: '' is not a range of versions"),
        (entry(">=14 <15"), "known_broken[0].versions: '>=14 <15' is not a range"),
        (entry(effect="warn"), "known_broken[0].effect: there is no effect 'warn'"),
        (entry().replace("avx2", "avx3"), "known_broken[0].feature: there is no feature 'avx3'"),
        (entry().replace("url", "link"), "known_broken[0].url: is missing"),
    ],
)
def test_a_mistake_in_an_entry(tmp_path, text, said):
    (tmp_path / "own.toml").write_text(f'extends = "x86"\n{text}')
    with pytest.raises(TableError) as caught:
        load_table("own.toml", tmp_path)
    assert said in str(caught.value)


def test_warnings_name_kernels_that_contain_what_is_broken():
    x86 = load_table("x86", Path())
    plan = plan_of(x86, "a.cpp", "b.cpp", verdicts=verdicts_of(x86))
    error = KnownBroken("gcc", ("<13",), "avx512_bf16", NOTE, "it is wrong", "https://example.org/1", ("_mm512_f",))
    gcc, clang = MatrixCompiler("gcc", "12.2.0", "GCC 12.2.0"), MatrixCompiler("clang", "12.0.0", "Clang 12.0.0")
    compilers = {"c": clang, "cpp": gcc}
    found = list(known_bugs([error], compilers, {"c": [], "cpp": []}, plan))
    levels = levels_from("AVX512_BF16")
    assert found == [(error, "cpp", tuple(levels))]
    assert list(known_bugs([replace(error, macro="_WIN32")], {"cpp": gcc}, {"cpp": ["__GNUC__"]}, plan)) == []
    assert list(known_bugs([replace(error, macro="_WIN32")], {"cpp": gcc}, {"cpp": ["_WIN32"]}, plan))
    (said,) = bug_warnings(found, compilers, plan, {"a.cpp": "x = _mm512_f(y);", "b.cpp": "x = _mm512_g(y);"})
    assert said.startswith(f"isagen: a.cpp contains _mm512_f, which GCC 12.2.0 miscompiles at {' '.join(levels)}")
    assert list(known_bugs([error], {"cpp": clang}, {"cpp": []}, plan)) == []


def test_compilers_of_one_name_are_told_apart():
    """The arguments of one language turn a macro on; the compiler of another has another bug than this kernel's."""
    x86 = load_table("x86", Path())
    plan = plan_of(x86, "a.cpp", "b.c", verdicts=verdicts_of(x86))
    error = KnownBroken("gcc", ("<13",), "avx2", NOTE, "it is wrong", "https://example.org/1", ("f(",), "__FAST_MATH__")
    compilers = dict.fromkeys(("c", "cpp"), MatrixCompiler("gcc", "12.2.0", "GCC 12.2.0"))
    for first, second in (("c", "cpp"), ("cpp", "c")):
        macros = {first: ["__FAST_MATH__"], second: []}
        found = list(known_bugs([error], compilers, macros, plan))
        assert [language for _, language, _ in found] == [first]
        (said,) = bug_warnings(found, compilers, plan, {"a.cpp": "f(1);", "b.c": "f(2);"})
        assert f"{'b.c' if first == 'c' else 'a.cpp'} contains f(" in said
