"""What commands write: to terminals of odd widths, pipes, devices, links and full disks, and with which exit status."""

import errno
import os
import platform
import subprocess
import sys
from argparse import Namespace
from dataclasses import replace

import pytest

from isagen.cli import main
from isagen.cli.output import wrapped, write, write_lines
from isagen.matrix.terminal import print_matrix
from isagen.matrix.where import Found
from support.matrices import matrix_of
from support.projects import need


@pytest.mark.parametrize("columns", ["0", "1", "abc", "-5", ""])
def test_odd_widths(columns, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", columns)
    print_matrix(matrix_of())
    assert "kernels/softmax.cpp" in capsys.readouterr().out


def test_control_characters_do_not_reach_a_terminal(capsys):
    matrix = matrix_of(1)
    print_matrix(replace(matrix, kernels=(replace(matrix.kernels[0], source="a\x1b]0;x\x07\nb\x9b.c"),)))
    said = capsys.readouterr().out
    assert "a\\x1b]0;x\\x07\\x0ab\\x9b.c" in said
    assert not any(one in said for one in "\x1b\x07\x9b")


def test_output_to_what_is_no_file(tmp_path, capfd):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write(Namespace(output=pipe), "said\n")
    assert os.read(reader, 100) == b"said\n"
    os.close(reader)
    assert pipe.is_fifo()
    link, file = tmp_path / "link", tmp_path / "file"
    link.symlink_to(file)
    write(Namespace(output=link), "\ud800\udcff")
    assert link.is_symlink()
    assert file.read_bytes() == "\N{REPLACEMENT CHARACTER}".encode() + b"\xff"


def test_no_name_is_not_the_current_folder(capsys):
    assert main(["matrix", ""]) == 2
    assert capsys.readouterr().err.startswith("isagen: error: WHERE: is empty\n  give a build folder, ")


def test_diff_fails_with_its_own_status(tmp_path, monkeypatch, capsys):
    """1 says that something differs: where nothing can be written, or binaries do not pair, it is 2."""
    sides = {
        "a": [Found("x.so", matrix_of())],
        "b": [Found("x.so", matrix_of(isagen="9"))],
        "c": [Found(f"{folder}/x.so", matrix_of()) for folder in "12"],
        "d": [Found("x.so", matrix_of()), Found("y.so", matrix_of())],
        "e": [Found(f"{folder}/x.so", matrix_of()) for folder in "12"] + [Found("y.so", matrix_of())],
    }
    monkeypatch.setattr("isagen.cli.matrix.find_matrices", sides.__getitem__)
    assert main(["diff", "a", "a"]) == 0
    assert main(["diff", "a", "b"]) == 1
    assert main(["diff", "a", "b", "-o", str(tmp_path)]) == 2
    with open("/dev/full", "w") as full:
        monkeypatch.setattr("sys.stdout", full)
        assert main(["diff", "a", "a"]) == 2
        monkeypatch.undo()
        monkeypatch.setattr("isagen.cli.matrix.find_matrices", sides.__getitem__)
    assert main(["diff", "c", "d"]) == main(["diff", "d", "e"]) == main(["diff", "d", "c"]) == 2


@pytest.mark.parametrize("form", [[], ["--format", "json"]], ids=["text", "json"])
@pytest.mark.parametrize("command", ["cpu", "audit"])
def test_an_output_that_takes_nothing(command, form, monkeypatch, capsys):
    """A status of 1 says that something was found."""
    words = [command, *form]
    if command == "audit":
        if platform.machine() not in ("x86_64", "AMD64"):
            pytest.skip("Python's own code cannot be audited here")
        words.append(sys.executable)
    monkeypatch.setattr("sys.stdout", None)
    assert main(words) == 2
    with open("/dev/full", "w") as full:
        monkeypatch.setattr("sys.stdout", full)
        assert main(words) == 2
    said = [os.strerror(number) for number in (errno.EBADF, errno.ENOSPC)]
    assert capsys.readouterr().err.splitlines() == [f"isagen: error: standard output: {text}" for text in said]


@pytest.mark.parametrize("terminal", [True, False])
def test_answers_are_as_wide_as_the_terminal(monkeypatch, terminal):
    line = "flags: " + "-mavx512f " * 20
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: terminal, raising=False)
    shown = wrapped(["short", line]).splitlines()
    assert " ".join(" ".join(shown).split()) == f"short {line}".strip()
    assert (max(map(len, shown)) <= 60) is terminal
    assert (len(shown) == 2) is not terminal


def test_a_terminal_wraps_init_doctor_and_errors_but_no_code(tmp_path):
    need("script")
    (tmp_path / "meson.build").write_text("project('mine', 'c')\n")
    script = f"stty cols 60; cd {tmp_path}; {sys.executable} -m isagen"
    for command in ("init .", "doctor .", "matrix no_such_folder"):
        done = subprocess.run(
            ["script", "-qc", f"{script} {command}", "/dev/null"],
            capture_output=True,
            env={name: value for name, value in os.environ.items() if name != "COLUMNS"},
            text=True,
            check=True,
        )
        lines = done.stdout.replace("\r", "").splitlines()
        assert len(lines) > 2
        prose = [line for line in lines if str(tmp_path) not in line and sys.prefix not in line]
        assert [line for line in prose if len(line) > 60 and not line.startswith("  isa_kernels = ")] == []


def test_a_file_gets_whole_lines_from_a_terminal(monkeypatch, tmp_path):
    monkeypatch.setenv("COLUMNS", "20")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    write_lines(Namespace(output=tmp_path / "file"), ["a text that is too wide", ""])
    assert (tmp_path / "file").read_text() == "a text that is too wide\n\n"


def test_code_in_an_answer_is_not_wrapped(monkeypatch):
    monkeypatch.setenv("COLUMNS", "20")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    lines = ["a text that is too wide", "    project('long', 'cpp', version: '1')"]
    assert wrapped(lines, code="    ", indent=" ") == f"a text that is too\n wide\n{lines[1]}\n"
