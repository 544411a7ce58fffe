"""Modules that answer in odd ways when they are imported to be asked, and reports that quote what is odd."""

import sys
from dataclasses import replace

import pytest

from isagen.matrix.report import Running, report_data, report_markdown, report_on, running_levels
from isagen.matrix.where import Found
from support.matrices import matrix_of

ISA = "class isa:\n current = 'A'\n kernels = {'k': {'A': 'selected', 'B': ''}}\n"
ADDED = "isa_add_to_module(module) of isa_python.h adds it when the module is initialised"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (ISA, Running(current="A", kernels={"k": "A"})),
        (ISA + "import atexit\natexit.register(print, 'bye')", Running(current="A", kernels={"k": "A"})),
        (ISA + "import sys\nsys.stdout.buffer.write(b'\\xff\\n')", Running(current="A", kernels={"k": "A"})),
        (ISA + "print('isagen: hello')", Running(current="A", kernels={"k": "A"})),
        (ISA + "input()", Running("importing it failed: EOFError: EOF when reading a line")),
        (ISA + "import os\nos._exit(0)", Running("importing it failed: the process ended before it answered")),
        ("x = 1", Running(f"unknown: the module has no attribute isa; {ADDED}")),
    ],
    ids=range(7),
)
def test_modules_that_say_more_or_less(tmp_path, monkeypatch, text, expected):
    (tmp_path / "odd.py").write_text(text)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    assert running_levels("odd") == expected


def test_a_process_that_cannot_start_names_no_folder(monkeypatch):
    monkeypatch.setattr(sys, "executable", "/home/ada/no/python")
    assert running_levels("odd") == Running("importing it failed: No such file or directory")


def test_a_report_stays_a_report(monkeypatch):
    matrix = matrix_of(1)
    monkeypatch.setenv("HELLO_ISA", "/home/ada/x\n| y |")
    levels = (*matrix.levels[:-1], replace(matrix.levels[-1], reason="a | b\nc"))
    report = report_on(Found("x[1].so", replace(matrix, project="<p>", levels=levels)))
    text = report_markdown(report)
    assert "| AVX512_FP16 | unavailable: a \\| b c | " in text
    assert "- override: HELLO_ISA=PATH \\| y \\|, which is no level of this build\n" in text
    assert text.startswith("### isagen report: x\\[1\\].so\n")
    assert "- project: \\<p\\>, table x86\n" in text
    assert "ada" not in text + str(report_data(report))
