"""The keyval file for Meson."""

import pytest

from isagen.configure.keyval import escape, write_keyval
from support.keyval import NASTY


@pytest.mark.parametrize("text", NASTY)
def test_nothing_that_means_something_is_left(text):
    assert not set("|# \n") & set(escape(text))


def test_escapes_do_not_clash():
    assert len({escape(text) for text in NASTY}) == len(NASTY)


def test_one_line_a_key():
    assert write_keyval({"a": "x", "b": ["y", "z|"], "c": [], "d": ("one",), "e": "two\nlines"}) == (
        "a=x\nb=y|z%7C\nc=\nd=one\ne=two%0Alines\n"
    )
