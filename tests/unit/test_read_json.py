"""JSON is read as `json` reads it."""

import json
import sys

import pytest

from isagen.model.read_json import read_json

TEXTS = (
    "{}",
    " [1, 2.5, -3e2, true, false, null]\r\n",
    '{"a": {"b": ["\\u00e9\\ud800", "é", ""]}, "a": 2}',
    "-0",
    '"text"',
    "[Infinity, -Infinity]",
    "12345678901234567890123",
)
DAMAGED = ("", " ", "{", "[1,]", '{"a" 1}', "[1] [2]", "nul", '"\n"', "{'a': 1}", '{"a": 1}x', "\ufeff{}", "\xa0{}")


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("native", [True, False])
def test_values_are_those_of_json(text, native, monkeypatch):
    if not native:
        monkeypatch.setitem(sys.modules, "_json", None)
    assert read_json(text) == json.loads(text)
    for encoding in ("utf-8", "utf-16", "utf-16-le", "utf-32-be"):
        raw = text.encode(encoding, errors="surrogatepass")
        assert read_json(raw) == json.loads(raw)


@pytest.mark.parametrize("text", DAMAGED)
def test_errors_are_those_of_json(text):
    with pytest.raises(ValueError) as expected:
        json.loads(text)
    with pytest.raises(ValueError) as found:
        read_json(text)
    assert type(found.value) is type(expected.value)
    assert str(found.value) == str(expected.value)


def test_parts_that_are_too_deep_are_an_error():
    with pytest.raises(RecursionError):
        read_json("[" * 100_000)
