"""The words of a command line are those that a POSIX shell reads."""

import shlex

import pytest

from isagen.build.linker_process import split_words

COMMANDS = (
    "",
    "  ",
    "cc -c a.c",
    " cc\t-c  a.c\r\n",
    "cc -DX='a b' a.c",
    'cc -DX="a b" a.c',
    r"cc a\ b.c",
    "cc one\N{NO-BREAK SPACE}name.c",
    "cc one\N{EM SPACE}name.c two\x0bname.c three\x0cname.c four\x1cname.c five\x85name.c",
    "cc # no comment",
    "cc a;b|c&d>e",
)


@pytest.mark.parametrize("command", COMMANDS)
def test_words_are_those_of_shlex(command):
    assert split_words(command) == shlex.split(command)


def test_a_quote_that_does_not_end_is_an_error():
    with pytest.raises(ValueError, match="No closing quotation"):
        split_words("cc 'a.c")
