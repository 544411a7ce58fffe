"""Copies of kernels per level: their contents, and when they are written."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from isagen.build.emit import copy_of, emit
from isagen.model.errors import BuildError, KernelError
from support.model import kernel_row, plan_of, write_build

OLD = 1_000_000_000
LEVELS = ("DEFAULT", "AVX2")


def write_plan(folder: Path, *sources: str, left_out: str = "") -> Path:
    kernels = [
        kernel_row(
            source,
            {x: "" if x == left_out else f"{Path(source).name}.{x}.c" for x in LEVELS},
            line=f"../src/{source}",
        )
        for source in sources
    ]
    return write_build(folder, plan_of(LEVELS, kernels))


@pytest.fixture
def build(tmp_path, monkeypatch):
    """Return a build folder beside src/, and go into it: paths of the plan start there."""
    for name in ("src", "build"):
        (tmp_path / name).mkdir()
    (tmp_path / "src" / "a.c").write_text("int a;\n")
    (tmp_path / "src" / "b.c").write_text("int b;\n")
    monkeypatch.chdir(tmp_path / "build")
    return tmp_path / "build"


# ---- one copy


def test_copy_is_the_source_after_a_line_that_leads_back():
    text = copy_of(b"int a;\n", "../k/a.c", "k/a.c", "AVX2").decode()
    head, guard, line, rest = text.split("\n", 3)
    assert head.startswith("/* AVX2: ")
    assert head.endswith("*/")
    assert "k/a.c" in head
    assert guard == '#include "isa_guard_AVX2.h"'
    assert line == '#line 1 "../k/a.c"'
    assert rest == "int a;\n"


@pytest.mark.parametrize(
    ("content", "kept"),
    [
        (b"int a;\r\nint b;\r\n", b"int a;\r\nint b;\r\n"),
        (b"\xef\xbb\xbfint a;\n", b"int a;\n"),
        (b"int a; // \xef\xbb\xbf inside", b"int a; // \xef\xbb\xbf inside"),
        (b"// Latin-1: \xe9, and no end of line", b"// Latin-1: \xe9, and no end of line"),
        (b"", b""),
    ],
    ids=["CRLF", "BOM", "BOM inside", "no UTF-8", "empty"],
)
def test_bytes_of_the_source_are_kept(content, kept):
    assert copy_of(content, "a.c", "a.c", "AVX2").split(b"\n", 3)[3] == kept


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
@pytest.mark.parametrize("name", ["a.c", "with blank.c", 'quo"te.c', "back\\slash.c", "ün#%ï.c", "star*", "it's.c"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_compiler_names_the_original(tmp_path, name, end):
    content = f"\ufeffint fine;{end}#error here{end}".encode()
    (tmp_path / "copy.c").write_bytes(copy_of(content, f"../k/{name}", f"k/*/{name}", "AVX2"))
    (tmp_path / "isa_guard_AVX2.h").write_text("")
    done = subprocess.run(["cc", "-fsyntax-only", "copy.c"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert f"../k/{name}:2:" in done.stderr
    assert "here" in done.stderr
    assert "copy.c" not in done.stderr


# ---- all copies


def test_emits_every_built_cell(build):
    emit(write_plan(build, "a.c", "b.c"), build / "out")
    assert {p.name for p in (build / "out").iterdir()} == {f"{k}.c.{level}.c" for k in "ab" for level in LEVELS}
    assert (build / "out" / "b.c.AVX2.c").read_bytes() == copy_of(b"int b;\n", "../src/b.c", "b.c", "AVX2")


def test_cell_that_is_not_built_has_no_copy(build):
    emit(write_plan(build, "a.c", left_out="AVX2"), build / "out")
    assert {p.name for p in (build / "out").iterdir()} == {"a.c.DEFAULT.c"}


def test_only_what_changed_is_written(build):
    plan, out = write_plan(build, "a.c", "b.c"), build / "out"
    emit(plan, out)
    for path in out.iterdir():
        os.utime(path, (OLD, OLD))
    emit(plan, out)
    assert {p.stat().st_mtime for p in out.iterdir()} == {OLD}
    (build.parent / "src" / "b.c").write_text("int c;\n")
    emit(plan, out)
    assert {p.name for p in out.iterdir() if p.stat().st_mtime != OLD} == {"b.c.DEFAULT.c", "b.c.AVX2.c"}


def test_absent_source(build):
    with pytest.raises(KernelError, match=r"^gone\.c: cannot be read: No such file"):
        emit(write_plan(build, "gone.c"), build / "out")


@pytest.mark.parametrize("content", [None, "{", "\0"])
def test_damaged_plan_says_to_configure_again(build, content):
    plan = build / "plan.json"
    if content is not None:
        plan.write_text(content)
    with pytest.raises(BuildError, match=r"plan\.json: cannot be read.*\n.*--reconfigure"):
        emit(plan, build / "out")
