"""Copies of kernels per level: their contents, and when they are written."""

import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from isagen.build.emit import around_source, emit, including_copy, shim_of
from isagen.build.main import main
from isagen.model.errors import BuildError, KernelError
from support.model import kernel_row, plan_of, write_build
from support.projects import need

OLD = 1_000_000_000
LEVELS = ("DEFAULT", "AVX2")


def write_plan(folder: Path, *sources: str, left_out: str = "", generated: bool = False) -> Path:
    kernels = [
        replace(
            kernel_row(
                source,
                {x: "" if x == left_out else f"{Path(source).name}.{x}.c" for x in LEVELS},
                line=f"../src/{source}",
            ),
            generated=generated,
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


def copies_in(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()} - {"isa_dispatch.c"}


# ---- one copy


def whole_copy(folder: Path, monkeypatch, content: bytes, source: str = "k/a.c") -> bytes:
    """Write the copy of a generated source, which is copied whole, and return its bytes."""
    (folder / "made").mkdir()
    made = folder / "made" / Path(source).name
    made.write_bytes(content)
    kernel = replace(kernel_row(source, {"AVX2": "copied"}, line="made/x"), generated=True)
    monkeypatch.chdir(folder)
    emit(write_build(folder, plan_of(["AVX2"], [kernel])), Path("out"), [f"made/{made.name}"])
    return (folder / "out/copied").read_bytes()


def test_a_copy_includes_its_source_from_its_own_folder():
    kernel = kernel_row("k/a.c", {}, line="../k/a.c")
    text = including_copy(kernel, "AVX2", "part/isagen")
    assert text.splitlines() == [
        "/* AVX2: included by isagen from k/a.c. Edit that file. */",
        '#include "isa_guard_AVX2.h"',
        '#include "../../../k/a.c"',
    ]
    away = kernel_row("k/a.c", {}, line="/elsewhere/k/a.c")
    assert including_copy(away, "AVX2", "isagen").endswith('#include "/elsewhere/k/a.c"\n')


def test_the_copy_of_a_generated_source_is_the_source_after_a_line_that_leads_back(tmp_path, monkeypatch):
    text = whole_copy(tmp_path, monkeypatch, b"int a;\n").decode()
    assert text.splitlines() == [
        "/* AVX2: copied by isagen from k/a.c, which the build generates. */",
        '#include "isa_guard_AVX2.h"',
        '#line 1 "made/a.c"',
        "int a;",
    ]


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
def test_bytes_of_a_source_that_is_copied_whole_are_kept(tmp_path, monkeypatch, content, kept):
    assert whole_copy(tmp_path, monkeypatch, content).split(b"\n", 3)[3] == kept


@pytest.mark.parametrize("compiler", ["gcc", "clang-16"])
@pytest.mark.parametrize("name", ["a.c", "with blank.c", 'quo"te.c', "ün#%ï.c", "star*.c", "it's.c"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_compiler_names_the_original(build, name, end, compiler):
    need(compiler)
    source = build.parent / "src/*" / name
    source.parent.mkdir()
    source.write_bytes(f'\ufeff#include "near.h"{end}#error here{end}'.encode())
    (source.parent / "near.h").write_text("int near;\n")
    emit(write_plan(build, f"*/{name}"), Path("isagen"))
    (build / "isagen/isa_guard_AVX2.h").write_text("")
    command = [compiler, "-fsyntax-only", "-iquote../src/*", f"isagen/{name}.AVX2.c"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert f"../src/*/{name}:2:" in done.stderr
    assert "here" in done.stderr
    assert "near.h" not in done.stderr


@pytest.mark.parametrize(
    ("source", "head"),
    [
        ("k/a.f90", '! AVX2: copied by isagen from k/a.f90. Edit that file.\n# 1 "../k/a"\n'),
        ("k/a.F90", '! AVX2: copied by isagen from k/a.F90. Edit that file.\n#line 1 "../k/a"\n'),
        ("k/a.f", '! AVX2: copied by isagen from k/a.f. Edit that file.\n# 1 "../k/a"\n'),
        ("k/a.fpp", '! AVX2: copied by isagen from k/a.fpp. Edit that file.\n#line 1 "../k/a"\n'),
    ],
)
def test_fortran_is_copied_whole(source, head):
    """Only preprocessors know #line; a Fortran copy has no guard header, because no macro says what is on."""
    kernel = kernel_row(source, {})
    assert not kernel.included
    assert around_source("../k/a", kernel, "AVX2") == (head, "")


def test_assembly_is_included():
    text = including_copy(kernel_row("k/a.S", {}, line="../k/a.S"), "AVX2", "isagen")
    assert text.endswith(' */\n#include "isa_guard_AVX2.h"\n#include "../../k/a.S"\n')


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
def test_a_c_copy_registers_at_its_end(header, include):
    kernel = replace(kernel_row("k/a.cpp", {}, line="../k/a.cpp"), header=header, registers={"x": "n::f"})
    end = f'\n#line 1 "isa.toml: kernels.k/a.cpp.register"\n{include}ISA_REGISTER_DISPATCH(x, &n::f)\n'
    assert including_copy(kernel, "AVX2", "isagen").endswith(f'#include "../../k/a.cpp"\n{end}')
    assert around_source("made/a.cpp", replace(kernel, generated=True), "AVX2")[1] == end


# ---- all copies


def test_emits_every_built_cell(build):
    emit(write_plan(build, "a.c", "b.c"), Path("out"))
    assert copies_in(build / "out") == {f"{k}.c.{level}.c" for k in "ab" for level in LEVELS}
    assert (build / "out" / "b.c.AVX2.c").read_text().endswith('#include "../../src/b.c"\n')


def test_cell_that_is_not_built_has_no_copy(build):
    emit(write_plan(build, "a.c", left_out="AVX2"), build / "out")
    assert copies_in(build / "out") == {"a.c.DEFAULT.c"}


def test_only_what_changed_is_written(build):
    made = ["../src/a.c", "../src/b.c"]
    plan, out = write_plan(build, "a.c", "b.c", generated=True), build / "out"
    emit(plan, out, made)
    for path in out.iterdir():
        os.utime(path, (OLD, OLD))
    emit(plan, out, made)
    assert {p.stat().st_mtime for p in out.iterdir()} == {OLD}
    (build.parent / "src" / "b.c").write_text("int c;\n")
    emit(plan, out, made)
    assert {p.name for p in out.iterdir() if p.stat().st_mtime != OLD} == {"b.c.DEFAULT.c", "b.c.AVX2.c"}


def test_shims_are_emitted(build):
    kernel = kernel_row("a.f90", {"AVX2": "a.f90.AVX2.f90"}, line="../src/a.c")
    (cell,) = kernel.cells
    kernel = replace(kernel, cells=(replace(cell, shim="a.f90.stubs.AVX2.c"),), header="s.h", registers={"x": "f"})
    emit(write_build(build, plan_of(["AVX2"], [kernel])), build / "out")
    assert copies_in(build / "out") == {"a.f90.AVX2.f90", "a.f90.stubs.AVX2.c"}
    assert (build / "out/a.f90.stubs.AVX2.c").read_text() == shim_of(kernel, "AVX2")


def test_absent_source(build):
    with pytest.raises(KernelError, match=r"^gone\.c: cannot be read: No such file"):
        emit(write_plan(build, "gone.c", generated=True), build / "out", ["../src/gone.c"])


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
    """Return a function that runs the step for generated sources and returns the new copies. It has run once."""
    plan = str(write_plan(build, "a.c", "b.c", generated=True))
    words = ["emit", plan, "out", "--generated", "../src/a.c", "../src/b.c"]

    def run():
        before = {path: path.stat().st_ino for path in Path("out").glob("*.c")}
        assert main(words) == 0
        return {path.name for path in Path("out").glob("*.c") if path.stat().st_ino != before.get(path)}

    assert main(words) == 0
    return run


def test_an_edit_writes_its_copies_alone(emitted):
    assert emitted() == set()
    Path("../src/b.c").write_text("int edited;\n")
    assert emitted() == {"b.c.DEFAULT.c", "b.c.AVX2.c"}
    assert Path("out/b.c.AVX2.c").read_text().endswith("\nint edited;\n")
    assert emitted() == set()


def test_a_copy_that_somebody_edited_is_written_anew(emitted):
    content = Path("out/a.c.AVX2.c").read_text()
    Path("out/a.c.AVX2.c").write_text("int wrong;\n")
    assert emitted() == {"a.c.AVX2.c"}
    assert Path("out/a.c.AVX2.c").read_text() == content


def test_a_copy_that_is_gone_is_written_anew(emitted):
    Path("out/a.c.AVX2.c").unlink()
    assert emitted() == {"a.c.AVX2.c"}


def test_another_plan_is_emitted(emitted):
    write_plan(Path.cwd(), "a.c", "b.c", left_out="AVX2", generated=True)
    Path("../src/b.c").write_text("int edited;\n")
    assert emitted() == {"b.c.DEFAULT.c"}


def test_a_source_that_is_gone(emitted, capsys):
    Path("../src/b.c").unlink()
    with pytest.raises(AssertionError):
        emitted()
    assert capsys.readouterr().err.startswith("isagen: error: b.c: cannot be read: No such file")


def test_an_edit_that_keeps_size_and_time_is_found(emitted):
    """Caches and archives restore times; ninja runs the step for another kernel then."""
    source = Path("../src/a.c")
    before = source.stat()
    source.write_text("int c;\n")
    os.utime(source, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert emitted() == {"a.c.DEFAULT.c", "a.c.AVX2.c"}


def test_an_edit_of_what_is_included_writes_nothing(build):
    words = ["emit", str(write_plan(build, "a.c", "b.c")), "out"]
    assert main(words) == 0
    Path("../src/b.c").unlink()
    before = {path: path.stat() for path in Path("out").iterdir()}
    assert main(words) == 0
    assert {path: path.stat() for path in Path("out").iterdir()} == before


@pytest.mark.parametrize("name", ['quo"te.c', "tri??/graph.c", "a.f90"])
def test_what_cannot_be_included_is_copied_whole(name):
    assert not kernel_row(name, {}, line=f"../{name}").included
    assert kernel_row("a.c", {}, line="../a.c").included


def test_a_path_does_not_begin_a_comment_in_the_comment():
    text = including_copy(kernel_row("k/*/a.c", {}, line="../k/*/a.c"), "AVX2", "isagen")
    assert text.splitlines()[0].count("/*") == 1
