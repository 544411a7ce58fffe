"""Words that select levels."""

from pathlib import Path

import pytest

from isagen.model.errors import ConfigError
from isagen.planning.levels import OPTION, level_words, select_levels
from isagen.processors.table import load_table
from support.plans import level, table_of

TABLE = load_table("x86", Path())
ALL = set(TABLE.names())


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ([], ALL),
        ([""], ALL),
        ([" , "], ALL),
        (["all"], ALL),
        (["none"], {"DEFAULT"}),
        (["AVX2"], {"DEFAULT", "AVX2"}),
        (["DEFAULT"], {"DEFAULT"}),
        (["AVX2", "AMX"], {"DEFAULT", "AVX2", "AMX"}),
        (["AVX2,AMX AVX512"], {"DEFAULT", "AVX2", "AMX", "AVX512"}),
        (["avx2_vnni", "Amx"], {"DEFAULT", "AVX2_VNNI", "AMX"}),
        (["-AMX"], ALL - {"AMX"}),
        (["-amx, -AVX2"], ALL - {"AMX", "AVX2"}),
        (["all", "-AMX"], ALL - {"AMX"}),
        (["none", "AVX2"], {"DEFAULT", "AVX2"}),
        (["AVX2", "none"], {"DEFAULT"}),
        (["AMX", "ALL", "-AVX2"], ALL - {"AVX2"}),
        (["+AVX2"], {"DEFAULT", "AVX2"}),
        (["none +avx2, +AMX"], {"DEFAULT", "AVX2", "AMX"}),
    ],
)
def test_words_are_read_from_left_to_right(words, expected):
    assert select_levels(words, TABLE, "here") == expected


@pytest.mark.parametrize("words", [["avx2,-AVX2"], ["-AMX", "+AMX"], ["all", "-AMX", "amx"]])
def test_a_level_that_is_named_with_and_without_a_minus_is_an_error(words):
    with pytest.raises(ConfigError, match=r"^here: (AVX2|AMX) and -\1 contradict each other\n  leave one of them out$"):
        select_levels(words, TABLE, "here")


@pytest.mark.parametrize(
    ("word", "remedy"),
    [
        ("AVX3", "'AVX2'"),
        ("-AVX3", "'-AVX2'"),
        ("-AMXX", "'-AMX'"),
        ("al", "'all'"),
        ("nome", "'none'"),
    ],
)
def test_unknown_level_suggests_another(word, remedy):
    with pytest.raises(ConfigError) as caught:
        select_levels(["AVX2", word], TABLE, "isa.toml: levels")
    assert caught.value.where == "isa.toml: levels"
    assert repr(word) in caught.value.message
    assert f"did you mean {remedy}?" in caught.value.remedy


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("all,-all", "ALL and -ALL contradict each other"),
        ("-ALL", "unknown level '-ALL'"),
        ("-none", "unknown level '-none'"),
        ("none,-none", "NONE and -NONE contradict each other"),
    ],
)
def test_a_keyword_has_no_minus(words, said):
    with pytest.raises(ConfigError, match=f"^here: {said}\n"):
        select_levels([words], TABLE, "here")


def test_a_lone_plus_is_no_word():
    assert level_words(["+, AVX2,+AMX"]) == ["AVX2", "AMX"]


def test_unknown_level_without_a_near_one_lists_all():
    with pytest.raises(ConfigError) as caught:
        select_levels(["quux"], TABLE, "here")
    assert all(name in caught.value.remedy for name in (*ALL, "all", "none"))


@pytest.mark.parametrize("words", [["-DEFAULT"], ["all", "-default"], ["none -DEFAULT"]])
def test_lowest_level_stays_on(words):
    with pytest.raises(ConfigError, match="here: DEFAULT cannot be switched off"):
        select_levels(words, TABLE, "here")


LACKING = {"AVX512_FP16": ("avx512_fp16",), "AMX": ("amx_tile", "amx_int8")}
HERE = ALL - set(LACKING)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("native", HERE),
        ("NATIVE -avx2", HERE - {"AVX2"}),
        ("native +AMX", HERE | {"AMX"}),
        ("none native", HERE),
        ("native none", {"DEFAULT"}),
        ("-AVX2 native", ALL),
    ],
)
def test_native(words, expected):
    assert select_levels([words], TABLE, "here", native=LACKING) == expected


def test_native_is_no_word_of_a_project():
    with pytest.raises(ConfigError, match=r"isa\.toml: levels: native is a word of the Meson option isa_levels alone"):
        select_levels(["native"], TABLE, "isa.toml: levels")


@pytest.mark.parametrize(
    ("word", "remedy"),
    [
        ("max", "write all"),
        ("MIN", "write none for the baseline"),
        ("detect", "the baseline is always"),
        ("-native", "'native'"),
        ("nativ", "'native'"),
    ],
)
def test_other_words_of_numpy(word, remedy):
    with pytest.raises(ConfigError, match=f"unknown level '{word}'") as caught:
        select_levels([word], TABLE, OPTION)
    assert remedy in caught.value.remedy


def test_a_level_may_have_the_name_of_a_word_of_numpy(tmp_path):
    table = table_of(tmp_path, level("BASE", 0, 128), level("MIN", 1, 128), level("MAX", 2, 128))
    assert select_levels(["min"], table, "here") == {"BASE", "MIN"}
