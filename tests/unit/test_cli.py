"""The command line: suggestions, examples, help, and completion."""

import os
import shlex
import shutil
import subprocess
import sys

import pytest

from isagen.cli import main
from isagen.cli.commands import make_parser
from isagen.cli.completion import SCRIPTS, candidates
from isagen.cli.examples import EXAMPLES, examples_of
from isagen.cli.main import FOR_MESON
from isagen.cli.parser import commands_of, options_of
from support.checkout import ROOT


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
        (["matirx"], "isagen: error: there is no command 'matirx'\n  did you mean 'matrix'?\n"),
        (["configur"], "isagen: error: there is no command 'configur'\n  known: init, doctor, matrix, "),
        (["probe", "--compilr", "c++"], "isagen probe: error: there is no option '--compilr'\n  did you mean '--comp"),
        (["cpu", "--levls=1"], "isagen cpu: error: there is no option '--levls'\n  did you mean '--levels'?\n"),
        (["cpu", "--format", "jsn"], "isagen cpu: error: --format: unknown value 'jsn'\n  did you mean 'json'?\n"),
        (["cpu", "more"], "isagen cpu: error: there is no place for the argument 'more'\n  see `isagen cpu --help`\n"),
        (["completion"], "isagen completion: error: the following arguments are required: SHELL\n  see `isagen comp"),
        (["completion", "ksh"], "isagen completion: error: SHELL: unknown value 'ksh'\n  did you mean '"),
    ],
)  # fmt: skip
def test_what_is_mistyped_is_one_message_with_a_suggestion(capsys, arguments, expected):
    assert refused(capsys, *arguments).startswith(expected)


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
    for typed in (example.partition("  # ")[0] for example in examples_of(name)):
        assert typed in said
        words = shlex.split(typed.removeprefix('eval "$(').removesuffix(')"').partition(" |")[0])
        options = make_parser().parse_args(words[1:])
        assert (words[0], options.command) == ("isagen", name)


def test_every_option_has_a_help_text():
    for name, command in commands_of(make_parser()).items():
        assert all(action.help for action in command._actions if action.option_strings), name


def test_examples_are_of_commands_that_exist():
    examples = [example for name in commands_of(make_parser()) for example in examples_of(name)]
    assert examples and sorted(examples) == sorted(EXAMPLES.splitlines())


# ---- completion


def completed(*words: str) -> set[str]:
    """The words that shells offer after `isagen WORDS`, the last of which is being typed."""
    return {word for word, _ in candidates(make_parser(), words)}


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["mat"], {"matrix"}),
        (["c"], {"cpu", "completion"}),
        (["--ver"], {"--version"}),
        (["probe", "--c"], {"--compiler"}),
        (["probe", "--language", ""], {"c", "cpp", "fortran"}),
        (["probe", "--compiler", ""], set()),  # files
        (["cpu", "--format", "j"], {"json"}),
        (["cpu", "--format", "json", "--l"], {"--levels"}),
        (["completion", ""], {"bash", "zsh", "fish"}),
        (["doctor", ""], set()),  # folders
        (["init", "--name", "matrix", "--fo"], {"--force"}),
        (["doctor", "x"], set()),
    ],
)
def test_words_are_completed(words, expected):
    assert completed(*words) == expected


def test_all_commands_and_options_are_completed():
    commands = commands_of(make_parser())
    assert completed("") == completed() == set(commands)
    assert completed("-") == {"-h", "--help", "--version"}
    for name, command in commands.items():
        assert completed(name, "-") == set(options_of(command)), name
    assert ("matrix", "show what was built, and why not the rest") in candidates(make_parser(), ["matr"])


# How each shell is made to say what it offers behind `isagen probe --language c`, without a terminal.
ASKED = {
    "bash": 'COMP_WORDS=(isagen probe --language c); COMP_CWORD=3; _isagen; printf "%s\n" "${COMPREPLY[@]}"',
    "zsh": 'compadd() { shift; print -l -- "$@"; }; words=(isagen probe --language c); CURRENT=4; _isagen',
    "fish": "complete -C 'isagen probe --language c'",
}


@pytest.mark.parametrize("shell", SCRIPTS)
def test_a_shell_asks_isagen(tmp_path, shell):
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    (tmp_path / "isagen").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m isagen "$@"\n')
    (tmp_path / "isagen").chmod(0o755)
    before = "compdef() { :; }; " if shell == "zsh" else ""
    done = subprocess.run(
        [shell, "-c", f"{before}{SCRIPTS[shell]}\n{ASKED[shell]}"],
        env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "HOME": str(tmp_path)},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert (done.stdout.split(), done.stderr) == (["c", "cpp"], "")


@pytest.mark.parametrize("shell", SCRIPTS)
def test_the_command_writes_a_script(capsys, shell):
    assert main(["completion", shell]) == 0
    assert capsys.readouterr().out == SCRIPTS[shell]
