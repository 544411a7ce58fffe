"""The command line: errors, examples, help, and completion by argcomplete."""

import os
import shlex
import subprocess
import sys
import tomllib

import pytest

from isagen.cli import main
from isagen.cli.commands import make_parser
from isagen.cli.main import FOR_MESON
from isagen.cli.parser import commands_of
from support.checkout import ROOT

EXAMPLES_OF = tomllib.loads((ROOT / "isagen/cli/examples.toml").read_text(encoding="utf-8"))


def refused(capsys, *arguments: str) -> str:
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert FOR_MESON not in said.err
    return said.err


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["matirx"], "isagen: error: argument COMMAND: invalid choice: 'matirx' (choose from"),
        (["configur"], "isagen: error: argument COMMAND: invalid choice: 'configur' (choose from"),
        (["cpu", "--levls=1"], "isagen: error: unrecognized arguments: --levls=1\n  see `isagen --help`\n"),
        (["cpu", "--format", "jsn"], "isagen cpu: error: argument --format: invalid choice: 'jsn' (choose from"),
        (["audit"], "isagen audit: error: the following arguments are required: TARGET\n  see `isagen audit --help`\n"),
    ],
)  # fmt: skip
def test_what_is_mistyped_is_one_message(capsys, arguments, expected):
    assert refused(capsys, *arguments).startswith(expected)


@pytest.mark.parametrize(
    ("arguments", "suggested"),
    [(["matirx"], "matrix"), (["cpu", "--format", "jsn"], "json"), (["quux"], "")],
)
def test_a_word_that_is_no_choice_gets_the_nearest_one(capsys, arguments, suggested):
    lines = refused(capsys, *arguments).splitlines()
    assert [line for line in lines if "did you mean" in line] == [f"  did you mean {suggested!r}?"] * bool(suggested)


def test_no_command_shows_the_help(capsys):
    assert main([]) == 2
    said = capsys.readouterr().err
    assert all(f"\n    {name}" in said for name in commands_of(make_parser()))
    assert FOR_MESON not in said


@pytest.mark.parametrize("name", commands_of(make_parser()))
def test_every_help_ends_with_examples_that_can_be_typed(capsys, name):
    with pytest.raises(SystemExit) as caught:
        main([name, "--help"])
    assert caught.value.code == 0
    said = capsys.readouterr().out
    assert "examples:\n  " in said
    for typed in EXAMPLES_OF[name]:
        assert typed in said
        words = shlex.split(typed)
        options = make_parser().parse_args(words[1:])
        assert (words[0], options.command) == ("isagen", name)


@pytest.mark.parametrize("columns", [60, 80])
@pytest.mark.parametrize("name", commands_of(make_parser()))
def test_no_help_is_wider_than_the_terminal(capsys, monkeypatch, name, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    with pytest.raises(SystemExit):
        main([name, "--help"])
    assert max(map(len, capsys.readouterr().out.splitlines())) <= columns


def test_a_folded_line_of_a_list_goes_on_below_its_text(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    with pytest.raises(SystemExit):
        main(["init", "--help"])
    said = capsys.readouterr().out
    assert "\n  isagen/extras  generated kernels, precompiled headers,\n                 whole modules\n" in said


@pytest.mark.skipif(sys.platform == "win32", reason="pseudoterminals are those of POSIX")
def test_an_error_of_the_arguments_is_folded_on_a_terminal():
    from support.terminal import on_terminal

    status, _, said = on_terminal("nothing")
    assert status == 2
    assert "invalid choice: 'nothing'" in said
    assert max(map(len, said.splitlines())) <= 60


def test_every_option_has_a_help_text():
    for name, command in commands_of(make_parser()).items():
        assert all(action.help for action in command._actions if action.option_strings), name


def test_examples_are_of_commands_that_exist():
    assert list(EXAMPLES_OF) == list(commands_of(make_parser()))


# ---- completion


@pytest.mark.skipif(sys.platform == "win32", reason="the shells are those of POSIX")
@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("isagen mat", {"matrix "}),
        ("isagen --ver", {"--version "}),
        ("isagen probe --c", {"--compiler "}),
        ("isagen probe --language c", {"c", "cpp"}),
        ("isagen cpu --format json --le", {"--levels "}),
        ("isagen test --of x --em", {"--emulated "}),
    ],
)
def test_words_are_completed(tmp_path, line, expected):
    """As the scripts of argcomplete ask, which read the words from file 8."""
    pytest.importorskip("argcomplete")
    program = f'"{sys.executable}" -m isagen 8>"{tmp_path}/words" 9>/dev/null'
    asked = {"_ARGCOMPLETE": "1", "_ARGCOMPLETE_IFS": "\n", "COMP_LINE": line, "COMP_POINT": str(len(line))}
    subprocess.run(["sh", "-c", program], env={**os.environ, **asked}, cwd=ROOT, check=True)
    assert set((tmp_path / "words").read_text().split("\n")) == expected
