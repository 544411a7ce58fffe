"""The keyval file for Meson."""

from isagen.configure.answer import keyval_text


def test_one_line_a_key():
    assert keyval_text({"a": "x", "b": ["y", "z#"], "c": [], "d": ("one",), "e": "two\nlines", "f": [" g "]}) == (
        "a=x\nb=y\x01z\x02\nc=\nd=one\ne=two\x03lines\nf=\x04g\x04\n"
    )
