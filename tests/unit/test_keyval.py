"""The keyval file for Meson."""

from isagen.configure.keyval import write_keyval


def test_one_line_a_key():
    assert write_keyval({"a": "x", "b": ["y", "z#"], "c": [], "d": ("one",), "e": "two\nlines", "f": [" g "]}) == (
        "a=x\nb=y\x01z\x02\nc=\nd=one\ne=two\x03lines\nf=\x04g\x04\n"
    )
