"""Words that select levels."""

from pathlib import Path

import pytest

from isagen.model.errors import ConfigError
from isagen.planning.levels import select_levels
from isagen.processors.table import load_table

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
        (["-AMX", "AMX"], ALL),
        (["AVX2", "-AVX2"], {"DEFAULT"}),
        (["none", "AVX2"], {"DEFAULT", "AVX2"}),
        (["AVX2", "none"], {"DEFAULT"}),
        (["AMX", "ALL", "-AVX2"], ALL - {"AVX2"}),
    ],
)
def test_words_are_read_from_left_to_right(words, expected):
    assert select_levels(words, TABLE, "here") == expected


@pytest.mark.parametrize(
    ("word", "remedy"),
    [
        ("AVX3", "'AVX2'"),
        ("-AVX3", "'-AVX2'"),
        ("-AMXX", "'-AMX'"),
        ("al", "'all'"),
        ("nome", "'none'"),
        ("-all", "'all'"),
    ],
)
def test_unknown_level_suggests_another(word, remedy):
    with pytest.raises(ConfigError) as caught:
        select_levels(["AVX2", word], TABLE, "isa.toml: levels")
    assert caught.value.where == "isa.toml: levels"
    assert repr(word) in caught.value.message
    assert f"did you mean {remedy}?" in caught.value.remedy


def test_unknown_level_without_a_near_one_lists_all():
    with pytest.raises(ConfigError) as caught:
        select_levels(["quux"], TABLE, "here")
    assert all(name in caught.value.remedy for name in (*ALL, "all", "none"))


@pytest.mark.parametrize("words", [["-DEFAULT"], ["all", "-default"], ["none -DEFAULT"]])
def test_lowest_level_stays_on(words):
    with pytest.raises(ConfigError, match="here: DEFAULT cannot be switched off"):
        select_levels(words, TABLE, "here")
