"""Copies of kernels per level: their contents, and when they are written."""

import json
import os
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from isagen.build.copies import around_source, shim_of
from isagen.build.emit import emit
from isagen.build.main import main
from isagen.build.write_copies import write_copies
from isagen.model.errors import BuildError, KernelError
from isagen.model.plan import KernelRow
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


def copy_of(folder: Path, content: bytes, line: str, kernel: KernelRow, level: str) -> bytes:
    """Write one copy, and return its bytes."""
    (folder / "source").write_bytes(content)
    write_copies(
        {str(folder / "source"): (kernel.source, [(str(folder / "copied"), *around_source(line, kernel, level))])}
    )
    return (folder / "copied").read_bytes()


def test_copy_is_the_source_after_a_line_that_leads_back(tmp_path):
    text = copy_of(tmp_path, b"int a;\n", "../k/a.c", kernel_row("k/a.c", {}), "AVX2").decode()
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
def test_bytes_of_the_source_are_kept(tmp_path, content, kept):
    assert copy_of(tmp_path, content, "a.c", kernel_row("a.c", {}), "AVX2").split(b"\n", 3)[3] == kept


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
@pytest.mark.parametrize("name", ["a.c", "with blank.c", 'quo"te.c', "back\\slash.c", "ün#%ï.c", "star*", "it's.c"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_compiler_names_the_original(tmp_path, name, end):
    content = f"\ufeffint fine;{end}#error here{end}".encode()
    kernel = kernel_row(f"k/*/{name}" if name.endswith(".c") else f"k/*/{name}.c", {})
    (tmp_path / "copy.c").write_bytes(copy_of(tmp_path, content, f"../k/{name}", kernel, "AVX2"))
    (tmp_path / "isa_guard_AVX2.h").write_text("")
    done = subprocess.run(["cc", "-fsyntax-only", "copy.c"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert f"../k/{name}:2:" in done.stderr
    assert "here" in done.stderr
    assert "copy.c" not in done.stderr


@pytest.mark.parametrize(
    ("source", "head"),
    [
        ("k/a.f90", '! AVX2: copied by isagen from k/a.f90. Edit that file.\n# 1 "../k/a"\n'),
        ("k/a.F90", '! AVX2: copied by isagen from k/a.F90. Edit that file.\n#line 1 "../k/a"\n'),
        ("k/a.f", '! AVX2: copied by isagen from k/a.f. Edit that file.\n# 1 "../k/a"\n'),
        ("k/a.fpp", '! AVX2: copied by isagen from k/a.fpp. Edit that file.\n#line 1 "../k/a"\n'),
        (
            "k/a.S",
            '/* AVX2: copied by isagen from k/a.S. Edit that file. */\n#include "isa_guard_AVX2.h"\n#line 1 "../k/a"\n',
        ),
    ],
)
def test_copies_in_other_languages(tmp_path, source, head):
    """Only preprocessors know #line; a Fortran copy has no guard header, because no macro says what is on."""
    content = b"  text = 'a/*' // '*/'\n"
    assert (
        copy_of(tmp_path, b"\xef\xbb\xbf" + content, "../k/a", kernel_row(source, {}), "AVX2")
        == head.encode() + content
    )


def test_a_copy_of_a_generated_source_does_not_say_to_edit_it(tmp_path):
    kernel = replace(kernel_row("a.c", {}), generated=True)
    assert b"from a.c, which the build generates. */" in copy_of(tmp_path, b"", "a.c", kernel, "AVX2")


def test_a_shim_declares_each_function_once_and_registers_it():
    kernel = replace(kernel_row("k/a.f90", {}), header="s.h", registers={"x": "f", "y": "f", "z": "g"})
    assert shim_of(kernel, "AVX2").split("\n") == [
        "/* AVX2: written by isagen for k/a.f90: registers its functions. */",
        '#include "s.h"',
        "extern __typeof__(*(y_isa_type)0) f;",
        "extern __typeof__(*(z_isa_type)0) g;",
        "ISA_REGISTER_DISPATCH(x, &f)",
        "ISA_REGISTER_DISPATCH(y, &f)",
        "ISA_REGISTER_DISPATCH(z, &g)",
        "",
    ]


@pytest.mark.parametrize(("header", "include"), [("s.h", '#include "s.h"\n'), ("", "")])
def test_a_c_copy_registers_at_its_end(tmp_path, header, include):
    kernel = replace(kernel_row("k/a.cpp", {}), header=header, registers={"x": "n::f"})
    end = f'int a;\n#line 1 "isa.toml: kernels.k/a.cpp.register"\n{include}ISA_REGISTER_DISPATCH(x, &n::f)\n'
    assert copy_of(tmp_path, b"int a;", "a", kernel, "AVX2").decode().endswith(end)


# ---- all copies


def test_emits_every_built_cell(build, tmp_path):
    emit(write_plan(build, "a.c", "b.c"), build / "out")
    assert {p.name for p in (build / "out").iterdir()} == {f"{k}.c.{level}.c" for k in "ab" for level in LEVELS}
    copy = copy_of(tmp_path, b"int b;\n", "../src/b.c", kernel_row("b.c", {}), "AVX2")
    assert (build / "out" / "b.c.AVX2.c").read_bytes() == copy


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


def test_shims_are_emitted(build):
    kernel = kernel_row("a.f90", {"AVX2": "a.f90.AVX2.f90"}, line="../src/a.c")
    (cell,) = kernel.cells
    kernel = replace(kernel, cells=(replace(cell, shim="a.f90.stubs.AVX2.c"),), header="s.h", registers={"x": "f"})
    emit(write_build(build, plan_of(["AVX2"], [kernel])), build / "out")
    assert {p.name for p in (build / "out").iterdir()} == {"a.f90.AVX2.f90", "a.f90.stubs.AVX2.c"}
    assert (build / "out/a.f90.stubs.AVX2.c").read_text() == shim_of(kernel, "AVX2")


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


# ---- what an edit changes


@pytest.fixture
def emitted(build):
    """Return a function that runs the step, and returns the names of the copies that it wrote, and whether it planned.

    The step has run once.
    """
    words = ["emit", str(write_plan(build, "a.c", "b.c")), "out"]

    def run(monkeypatch):
        calls = []
        monkeypatch.setattr("isagen.build.emit.emit", lambda *args: (calls.append(1), emit(*args)))
        for path in Path("out").glob("*.c"):
            os.utime(path, (OLD, OLD))
        assert main(words) == 0
        return {path.name for path in Path("out").glob("*.c") if path.stat().st_mtime != OLD}, bool(calls)

    assert main(words) == 0
    return run


def test_an_edit_writes_its_copies_alone(emitted, monkeypatch):
    emitted(monkeypatch)  # whose copies have another time now
    assert emitted(monkeypatch) == (set(), False)
    Path("../src/b.c").write_text("int edited;\n")
    assert emitted(monkeypatch) == ({"b.c.DEFAULT.c", "b.c.AVX2.c"}, False)
    assert Path("out/b.c.AVX2.c").read_text().endswith("\nint edited;\n")
    assert emitted(monkeypatch) == (set(), False)


def test_a_copy_that_somebody_edited_is_written_anew(emitted, monkeypatch):
    content = Path("out/a.c.AVX2.c").read_text()
    Path("out/a.c.AVX2.c").write_text("int wrong;\n")
    assert emitted(monkeypatch) == ({"a.c.AVX2.c"}, False)
    assert Path("out/a.c.AVX2.c").read_text() == content


def test_a_copy_that_is_gone_is_written_anew(emitted, monkeypatch):
    Path("out/a.c.AVX2.c").unlink()
    assert emitted(monkeypatch) == ({"a.c.AVX2.c"}, True)


def test_another_plan_is_emitted_whole(emitted, monkeypatch):
    write_plan(Path.cwd(), "a.c", "b.c", left_out="AVX2")
    Path("../src/b.c").write_text("int edited;\n")
    assert emitted(monkeypatch) == ({"b.c.DEFAULT.c"}, True)


def test_a_source_that_is_gone(build, capsys):
    words = ["emit", str(write_plan(build, "a.c", "b.c")), "out"]
    assert main(words) == 0
    Path("../src/b.c").unlink()
    assert main(words) == 1
    assert capsys.readouterr().err.startswith("isagen: error: b.c: cannot be read: No such file")


@pytest.mark.parametrize(
    "noted", [None, [], {"x": 1}, {"../src/a.c": ["a.c"]}, {"../src/none.c": ["none.c", []]}, "files that are missing"]
)
def test_a_record_that_somebody_changed_is_none(emitted, monkeypatch, noted):
    record = Path("out/.plan.emitted")
    kept = json.loads(record.read_text())
    if isinstance(noted, str):
        kept["files"] = {}
    else:
        kept["noted"] = noted
    record.write_text(json.dumps(kept))
    Path("../src/b.c").write_text("int edited;\n")
    assert emitted(monkeypatch) == ({"b.c.DEFAULT.c", "b.c.AVX2.c"}, True)


def test_an_edit_that_keeps_size_and_time_is_found_with_the_next(emitted, monkeypatch):
    """Caches and archives restore times; ninja runs the step for another kernel then."""
    source = Path("../src/a.c")
    before = source.stat()
    source.write_text("int c;\n")
    os.utime(source, ns=(before.st_atime_ns, before.st_mtime_ns))
    Path("../src/b.c").write_text("int d;\n")
    assert emitted(monkeypatch)[0] == {f"{name}.c.{level}.c" for name in "ab" for level in LEVELS}
