"""Tables that extend tables: which levels they take, and that one more level in x86 changes none of them."""

import re
from pathlib import Path

import pytest

from isagen.model.errors import TableError
from isagen.processors.registry import builtin_tables
from isagen.processors.table import load_table

MORE = '[levels.{}]\nrank = {}\nvector_bits = 128\nprobe = "return argc;"\nflags.gnu = []\n'


def write(folder: Path, text: str) -> None:
    (folder / "own.toml").write_text(text)


def test_keep_takes_the_named_levels_and_all_of_its_own(tmp_path):
    write(tmp_path, 'extends = "x86"\nkeep = ["AVX512", "AVX2", "DEFAULT"]\n' + MORE.format("TOP", 99))
    assert load_table("own.toml", tmp_path).names() == ("DEFAULT", "AVX2", "AVX512", "TOP")


def test_a_level_that_is_not_kept_can_be_written_anew(tmp_path):
    write(tmp_path, 'extends = "x86"\nkeep = "DEFAULT"\n' + MORE.format("AVX2", 5))
    table = load_table("own.toml", tmp_path)
    assert table.names() == ("DEFAULT", "AVX2")
    assert (table.level("AVX2").rank, table.level("AVX2").features) == (5, ())


def test_each_table_chooses_of_what_the_one_below_has(tmp_path):
    (tmp_path / "a.toml").write_text('extends = "x86"\nkeep = ["DEFAULT", "AVX2", "AVX2_VNNI"]\n')
    (tmp_path / "b.toml").write_text('extends = "a.toml"\ndrop = ["AVX2_VNNI"]\n')
    assert load_table("b.toml", tmp_path).names() == ("DEFAULT", "AVX2")
    (tmp_path / "b.toml").write_text('extends = "a.toml"\ndrop = ["AMX"]\n')
    with pytest.raises(TableError, match="drop: there is no level 'AMX'"):
        load_table("b.toml", tmp_path)


@pytest.mark.parametrize(
    ("head", "key", "message", "remedy"),
    [
        ('keep = ["AVX3"]', "keep", "there is no level 'AVX3'", "did you mean 'AVX2'?"),
        ('keep = "AVX3"', "keep", "there is no level 'AVX3'", ""),
        ("keep = [1]", "keep", "must be a list of strings", ""),
        (
            'keep = ["DEFAULT"]\ndrop = ["AVX2"]',
            "drop",
            "cannot be given together with keep",
            "list all levels that stay in keep",
        ),
        ('keep = ["AVX2_VNNI", "DEFAULT"]', "levels.AVX2_VNNI.requires", "there is no level 'AVX2'", ""),
        ("keep = []", "levels", "the table has no levels", ""),
    ],
)
def test_bad_choice(tmp_path, head, key, message, remedy):
    write(tmp_path, f'extends = "x86"\n{head}\n')
    with pytest.raises(TableError) as caught:
        load_table("own.toml", tmp_path)
    assert caught.value.where == f"own.toml: {key}"
    assert message in caught.value.message
    assert remedy in caught.value.remedy


@pytest.mark.parametrize("key", ["keep", "drop"])
def test_nothing_to_choose_from(tmp_path, key):
    write(tmp_path, f'features = "x86"\n{key} = ["A"]\n' + MORE.format("A", 0))
    with pytest.raises(TableError, match=f"^own.toml: {key}: unknown key"):
        load_table("own.toml", tmp_path)


@pytest.mark.parametrize("name", ["ipex", "aten"])
def test_one_more_level_of_x86_changes_nothing_else(tmp_path, name):
    files = builtin_tables()
    new = MORE.format("NOVEL", 999) + 'requires = ["AVX512_FP16"]\nfeatures = ["avx10_1"]\n'
    (tmp_path / "x86.toml").write_text(files["x86"].read_text() + new)
    text = files[name].read_text()
    assert len(re.findall(r'^extends = "x86"$', text, re.M)) == 1
    (tmp_path / "upper.toml").write_text(text.replace('extends = "x86"', 'extends = "x86.toml"'))
    assert "NOVEL" in load_table("x86.toml", tmp_path).names()
    assert load_table("upper.toml", tmp_path).levels == load_table(name, Path()).levels
