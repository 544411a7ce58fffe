"""Data of TOML files that is kept by the hash of their content."""

import tomllib

import pytest

from isagen.model.errors import ConfigError
from isagen.model.toml import keep_parsed, parse_toml

TEXT = 'one = 1\r\n[two]\nthree = ["\u00e4", 4.5, true]\n'


@pytest.fixture
def kept(tmp_path):
    folder = tmp_path / "cache" / "toml"
    keep_parsed(folder)
    yield folder
    keep_parsed(None)


def test_a_file_is_parsed_once(kept, tmp_path, monkeypatch):
    path = tmp_path / "a.toml"
    path.write_text(TEXT, newline="")
    expected = tomllib.loads(TEXT)
    assert parse_toml(path, ConfigError) == expected
    assert len(list(kept.iterdir())) == 1
    monkeypatch.setattr(tomllib, "loads", lambda text: pytest.fail("it is parsed again"))
    assert parse_toml(path, ConfigError) == expected


def test_a_changed_file_of_the_same_size_is_read(kept, tmp_path):
    path = tmp_path / "a.toml"
    for text in ("a = 1\n", "a = 2\n"):
        path.write_text(text)
        assert parse_toml(path, ConfigError) == tomllib.loads(text)


def test_what_is_damaged_is_parsed(kept, tmp_path):
    path = tmp_path / "a.toml"
    path.write_text(TEXT)
    expected = parse_toml(path, ConfigError)
    (file,) = kept.iterdir()
    content = file.read_bytes()
    for damaged in (b"", content[:-1], content[:-1] + bytes([content[-1] ^ 1])):
        file.write_bytes(damaged)
        assert parse_toml(path, ConfigError) == expected
        assert file.read_bytes() == content


def test_what_cannot_be_kept(kept, tmp_path):
    path = tmp_path / "a.toml"
    path.write_text("day = 2026-01-01\n")
    assert parse_toml(path, ConfigError) == parse_toml(path, ConfigError)
    path.write_text("day =\n")
    for _ in range(2):
        with pytest.raises(ConfigError, match="not valid TOML"):
            parse_toml(path, ConfigError)


def test_nothing_is_kept_where_nobody_asks(tmp_path):
    path = tmp_path / "a.toml"
    path.write_text(TEXT)
    parse_toml(path, ConfigError)
    assert list(tmp_path.iterdir()) == [path]
