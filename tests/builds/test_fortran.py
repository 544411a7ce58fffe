"""Fortran kernels: results at each level, names that are private to a level, modules, messages, and what is refused."""

import re

import pytest

from support.extensions import BITS, at_each_level, line_table
from support.projects import matrix, need

LEVELS = ("DEFAULT", "AVX2", "AVX512")
RUN = (
    "[(x := array.array('f', range(37)), y := array.array('f', [1] * 37), m.axpy(2.0, x, y)) and y.tolist(), "
    "m.dot(x, y), m.total(x), m.text(), m.counted()]"
)


@pytest.fixture
def fortran(prepared):
    """The package, with debug information; its C is GCC's."""
    need("gfortran")
    return prepared("fortran", "-Ddebug=true")


def append(project, name, text):
    path = project.folder / name
    path.write_text(path.read_text() + text)


def check_results(project):
    found = at_each_level(project, "fortran_kernels", RUN)
    for number, (level, (axpy, dot, total, text, counted)) in enumerate(found.items(), 1):
        assert axpy == [1 + 2 * x for x in range(37)]
        assert dot == sum(x * (1 + 2 * x) for x in range(37))
        assert total == sum(range(37))
        assert text == r"a/*bc*///d\n#e"
        # A module's variable is the level's own, a COMMON block the program's.
        assert counted == [BITS[level], 2, number]


@pytest.mark.smoke
def test_results_at_each_level(fortran):
    check_results(fortran)


def test_with_clang_for_c(prepared):
    need("gfortran", "clang-16")
    project = prepared("fortran", "-Disa_levels=AVX2", CC="clang-16", CXX="clang++-16")
    check_results(project)
    assert {language: one["id"] for language, one in matrix(project)["compilers"].items()} == {
        "c": "clang",
        "fortran": "gcc",
    }


def test_symbols_of_a_level_are_its_own(fortran):
    (library,) = fortran.path("").glob("fortran_kernels*.so")
    names = fortran.run("nm", str(library)).stdout.split()
    for name in (
        "axpy",
        "dot",
        "__counting_MOD_count_call",
        "__counting_MOD_calls",
        "__counting_MOD___vtab_counting_Scaling",
    ):
        assert len([found for found in names if re.fullmatch(rf"{name}\.(default|avx2|avx512)\.\d+", found)]) == 3
    assert names.count("counts_") == 1
    sections = fortran.run("readelf", "-SW", str(library)).stdout
    assert all(f".isa_text.{level}" in sections for level in LEVELS)
    assert "libgfortran" in fortran.run("readelf", "-dW", str(library)).stdout
    modules = {path.parent.name.split("__")[0] for path in fortran.path("isagen").glob("*/counting.mod")}
    assert modules == {f"libisa_{level}" for level in LEVELS}


def test_debuggers_see_the_original(fortran):
    for name in ("axpy.f90", "dot.F90", "total.f"):
        table = line_table(fortran, f"isagen/isa_AVX2.{name}.o")
        assert re.search(rf"^{re.escape(name)} +\d+ ", table, re.M)
        assert not re.search(rf"^{re.escape(name)}\.AVX2\S* +\d+ ", table, re.M)


def test_an_edited_kernel_rebuilds_its_copies_and_nothing_else(fortran):
    assert "no work to do" in fortran.ninja()
    append(fortran, "kernels/axpy.f90", "! a comment\n")
    compiled = fortran.compiled()
    assert len(compiled) == len(LEVELS)
    assert all("axpy.f90" in step for step in compiled)
    assert "no work to do" in fortran.ninja()


def test_an_edited_module_rebuilds_what_uses_it(fortran):
    fortran.edit("kernels/counting.f90", "calls = 0", "calls = 5, unused = 1")
    compiled = [step for step in fortran.steps() if "Compiling Fortran" in step]
    assert {re.search(r"_\.\.?_?(\w+\.\w+)\.\w+\.\w+\.o", step)[1] for step in compiled} == {
        "counting.f90",
        "axpy.f90",
        "dot.F90",
    }
    found = at_each_level(fortran, "fortran_kernels", "m.counted()[1]")
    assert set(found.values()) == {5}


@pytest.mark.parametrize("name", ["axpy.f90", "dot.F90", "total.f"])
def test_messages_name_the_original(fortran, name):
    path = fortran.folder / "kernels" / name
    lines = path.read_text().splitlines()
    path.write_text("\n".join([*lines, "      wrong =* 1", ""]))
    said = fortran.ninja(check=False)
    assert f"../kernels/{name}:{len(lines) + 1}:" in said


def test_a_variable_for_all_to_see_is_explained(fortran):
    fortran.edit("kernels/counting.f90", "calls = 0", "calls = 0\n  integer(c_int), bind(c) :: state = 1")
    said = fortran.ninja(check=False)
    assert (
        "isagen: error: state: kernels/counting.f90 defines this variable at each level: DEFAULT, AVX2, AVX512\n"
        "  make it private to the kernel source, so that each level has its own: static in C and C++, without bind(c) "
        "in a Fortran module" in said
    )


def test_flags_of_the_project_that_no_level_checks_fail_the_link(fortran):
    """gfortran predefines no macro of a feature, so that no guard header can refuse them."""
    fortran.edit(
        "meson.build",
        "isa_kernels =",
        "add_languages('fortran', native: false)\n"
        "add_project_arguments('-mavx512f', language: 'fortran')\n"
        "isa_kernels =",
    )
    fortran.edit("isagen/isa.toml", '["AVX2", "AVX512"]', '["none"]')
    said = fortran.ninja(check=False)
    assert re.search(r"total\.default\.\d+ at DEFAULT, in kernels/total\.f\n", said)
    assert "ninja: build stopped" in said


# ---- configuring


@pytest.fixture
def plain(new_project):
    need("gfortran")
    return new_project("fortran")


def test_own_flags_that_no_level_checks(plain):
    with (plain.folder / "isagen/isa.toml").open("a") as stream:
        stream.write('\n[kernels."kernels/*"]\nargs = ["-O3", "-mavx512f"]\n')
    plain.setup()
    said = plain.ninja(check=False).partition("isagen audit: error: ")[2]
    assert re.search(r"dot\.default\S* at DEFAULT, in kernels/dot.F90\n.*\n +needs .*\bavx\b", said)


def test_a_fortran_compiler_that_cannot_be_asked_builds_the_lowest_level(plain, tmp_path):
    script = tmp_path / "gfortran-alone"
    script.write_text('#!/bin/sh\nfor word; do case $word in *.c) exit 1;; esac; done\nexec gfortran "$@"\n')
    script.chmod(0o755)
    plain.setup(FC=str(script))
    levels = {level["name"]: level for level in matrix(plain)["levels"]}
    assert levels["DEFAULT"]["verdict"] == "built"
    assert levels["AVX2"]["verdict"] == "unavailable"
    assert re.search(r"GCC [\d.]+ compiles Fortran alone, so isagen cannot see what", levels["AVX2"]["reason"])


def test_without_the_seal_only_the_lowest_level_is_built(plain):
    plain.setup("-Disa_seal=false", "-Disa_audit=off")
    for kernel in matrix(plain)["kernels"]:
        built = [name for name, cell in kernel["levels"].items() if cell["verdict"] == "built"]
        assert built == ["DEFAULT"]
        assert "by the Meson option isa_seal" in kernel["levels"]["AVX2"]["reason"]
    plain.ninja()
    assert list(at_each_level(plain, "fortran_kernels", "m.counted()")) == ["DEFAULT"]
