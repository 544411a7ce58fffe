"""Modules that answer in odd ways when they are imported to be asked, and reports that quote what is odd."""

from dataclasses import replace

import pytest

from isagen.matrix.report import loaded, report_text
from isagen.matrix.where import Found
from isagen.model.matrix import Alias
from support.matrices import matrix_of

ISA = "class isa:\n report = staticmethod(lambda: 'A in use')\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (ISA, "A in use\n"),
        (ISA + "import sys\nsys.stdout.buffer.write(b'\\xff\\n')", "\ufffd\nA in use\n"),
        (ISA + "input()", "importing it failed: EOFError: EOF when reading a line\n"),
        (ISA + "import os\nos._exit(3)", "importing it failed: the process ended with status 3\n"),
        ("x = 1", "importing it failed: AttributeError: module 'odd' has no attribute 'isa'\n"),
    ],
    ids=range(5),
)
def test_modules_that_say_more_or_less(tmp_path, monkeypatch, text, expected):
    (tmp_path / "odd.py").write_text(text)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    assert loaded("odd") == expected


def test_a_report_stays_a_report(monkeypatch):
    matrix = matrix_of(1)
    monkeypatch.setenv("HELLO_ISA", "/home/ada/x\n| y |")
    levels = (*matrix.levels[:-1], replace(matrix.levels[-1], reason="a | b\nc"))
    text = report_text(Found("x[1].so", replace(matrix, project="<p>", levels=levels)))
    assert "| AVX512_FP16 | unavailable: a \\| b c | " in text
    assert "- override: HELLO_ISA=PATH \\| y \\|, which is no level of this build\n" in text
    assert text.startswith("### isagen report: x\\[1\\].so\n")
    assert "- project: \\<p\\>, table x86\n" in text
    assert "ada" not in text


def test_the_report_of_a_build_is_named_by_its_project(tmp_path):
    text = report_text(Found("/home/ada", matrix_of(1), tmp_path / "isa_plan.json"))
    assert text.startswith(f"### isagen report: {matrix_of(1).project}\n")


def test_a_report_says_of_variables_only_what_was_read(monkeypatch):
    """A blank value counts as none; for a build for another architecture, no variable is read."""
    here = matrix_of(1, aliases=(Alias("OLD_ISA"),))
    monkeypatch.setenv("HELLO_ISA", " ")
    assert "- override: no value in HELLO_ISA or OLD_ISA\n" in report_text(Found("x.so", here))
    monkeypatch.setenv("HELLO_ISA", "AVX2")
    foreign = report_text(Found("x.so", replace(here, cpu_family="alien")))
    assert "- override: " not in foreign
    assert "- selected: unknown: it is built for alien, " in foreign
    unnamed = report_text(Found("x.so", replace(here, override="", aliases=())))
    assert "- override: there is none\n" in unnamed
