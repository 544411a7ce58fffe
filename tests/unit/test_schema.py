"""TOML is read by its types, and every error names file, key and remedy."""

import pytest

from isagen.model.errors import ConfigError, IsagenError, did_you_mean
from isagen.model.toml import Section, parse_toml, read_toml


def section(**data) -> Section:
    return Section(data, "f.toml", ConfigError)


def test_every_reader_returns_what_is_there():
    top = section(s="x", i=3, many=["a", "b"], one="a", mixed=[1, "b"], t={"k": "v"}, ts={"a": {}, "b": {"i": 1}})
    assert top.string("s") == "x"
    assert top.integer("i") == 3
    assert top.strings("many") == ("a", "b")
    assert top.strings("one") == ("a",)
    assert top.array("mixed") == [1, "b"]
    assert top.section("t").string("k") == "v"
    assert [name for name, _ in top.sections("ts")] == ["a", "b"]
    assert dict(top.sections("ts"))["b"].integer("i") == 1
    assert top.names() == ("s", "i", "many", "one", "mixed", "t", "ts")
    top.finish()


def test_defaults():
    top = section()
    assert top.string("s", None) is None
    assert top.integer("i", 7) == 7
    assert top.strings("l", ()) == ()
    assert top.section("t").names() == ()
    assert list(top.sections("ts")) == []


@pytest.mark.parametrize("read", ["string", "integer", "strings", "array"])
def test_missing_key(read):
    with pytest.raises(ConfigError, match=r"^f\.toml: k: is missing\n  give it as an? "):
        getattr(section(), read)("k")


@pytest.mark.parametrize(
    ("read", "value"),
    [
        ("string", 1),
        ("string", ["a"]),
        ("integer", "1"),
        ("integer", True),
        ("integer", 1.0),
        ("strings", 1),
        ("strings", ["a", 1]),
        ("strings", {}),
        ("array", "a"),
        ("section", []),
    ],
)
def test_wrong_type_names_key_and_value(read, value):
    with pytest.raises(ConfigError, match=r"^f\.toml: k: must be") as caught:
        getattr(section(k=value), read)("k")
    assert repr(value[1] if value == ["a", 1] else value) in caught.value.message


def test_messages_give_the_dotted_key():
    inner = section(a={"b": {"c": 1}}).section("a").section("b")
    assert inner.where() == "f.toml: a.b"
    assert inner.where("c") == "f.toml: a.b.c"
    with pytest.raises(ConfigError, match=r"^f\.toml: a\.b\.c: must be a string"):
        inner.string("c")


def test_key_that_nobody_read():
    top = section(name="x", nmae="y")
    top.string("name")
    assert "title" not in top
    with pytest.raises(ConfigError, match=r"^f\.toml: nmae: unknown key\n  did you mean 'name'\?$"):
        top.finish()


def test_testing_for_a_key_makes_it_known():
    top = section(name="x")
    assert "name" in top
    top.finish()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a = = 1", r"f\.toml: is not valid TOML: .*line 1"),
        (b"a = 1\na = 2\n", r"f\.toml: is not valid TOML"),
        (b'a = "\xff"', r"f\.toml: is not UTF-8 text"),
    ],
)
def test_damaged_file(tmp_path, content, message):
    path = tmp_path / "x.toml"
    path.write_bytes(content)
    with pytest.raises(ConfigError, match=message):
        parse_toml(path, ConfigError, "f.toml")


def test_absent_file_is_named_by_its_path(tmp_path):
    with pytest.raises(IsagenError) as caught:
        read_toml(tmp_path / "no.toml", ConfigError)
    assert caught.value.where == str(tmp_path / "no.toml")


@pytest.mark.parametrize(
    ("word", "known", "remedy"),
    [
        ("avx2", ["AVX2", "AMX"], "did you mean 'AVX2'?"),
        ("quux", ["AVX2", "AMX"], "known: AVX2, AMX"),
        ("quux", [], ""),
    ],
)
def test_did_you_mean(word, known, remedy):
    assert did_you_mean(word, known) == remedy
