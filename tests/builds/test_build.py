"""Builds with Meson and ninja: their outputs, and what a change rebuilds."""

import re

import pytest

from isagen.configure.request import FRAGMENT_FORMAT
from support.levels import ALL, level_that_runs, supported_levels
from support.prepared import FEW
from support.projects import compilations, make_project, matrix, verdicts

KERNELS = 20


@pytest.fixture
def many(prepared):
    """A project of 20 small kernels."""
    return prepared(make_many)


@pytest.fixture
def mixed(prepared):
    """The project of tests/packages/mixed."""
    return prepared("mixed")


@pytest.fixture
def hello(prepared):
    """The project that `isagen init` makes."""
    return prepared(None)


def make_many(folder):
    project = make_project(folder)
    (project.folder / "kernels").mkdir()
    names = [f"k{i}" for i in range(KERNELS)]
    for i, name in enumerate(names):
        (project.folder / f"kernels/{name}.cpp").write_text(
            '#include "stubs.h"\n'
            f"namespace {{ int kernel(int x) {{ return x + {i}; }} }}\n"
            f"ISA_REGISTER_DISPATCH({name}_stub, &kernel)\n"
        )
    declared = "".join(f"ISA_DECLARE_DISPATCH(fn, {name}_stub)\n" for name in names)
    (project.folder / "kernels/stubs.h").write_text(f'#include "isa_dispatch.h"\ntypedef int (*fn)(int);\n{declared}')
    defined = "".join(f"ISA_DEFINE_DISPATCH({name}_stub)\n" for name in names)
    total = " + ".join(f"{name}_stub(0)" for name in names)
    (project.folder / "main.cpp").write_text(
        f'#include "kernels/stubs.h"\n#include <cstdio>\n{defined}int main() {{ std::printf("%d\\n", {total}); }}\n'
    )
    sources = ", ".join(f"'kernels/{name}.cpp'" for name in names)
    (project.folder / "meson.build").write_text(
        "project('many', 'cpp', default_options: ['cpp_std=c++17'])\n"
        f"isa_kernels = files({sources})\nsubdir('isagen')\n"
        "executable('many', 'main.cpp', dependencies: isa_kernels_dep)\n"
    )
    project.isagen("init")
    return project


@pytest.mark.smoke
def test_an_edited_kernel_rebuilds_its_copies_and_nothing_else(many):
    assert "no work to do" in many.ninja()
    before = int(many.run(many.path("many")).stdout)

    many.edit("kernels/k3.cpp", "x + 3", "x + 1003")
    steps = many.steps()
    compiled = compilations(steps)
    assert len(compiled) == len(ALL)
    assert all("k3.cpp." in step for step in compiled)
    assert sum("Generating" in step for step in steps) == 1  # all sealed objects
    assert sum("Linking target many" in step for step in steps) == 1
    assert int(many.run(many.path("many")).stdout) == before + 1000
    assert "no work to do" in many.ninja()

    many.setup("--reconfigure")
    assert "no work to do" in many.ninja()


def test_a_kernel_that_is_touched_but_not_changed(many):
    """Sealing leaves all as it was, but for the time, which a step after each configuring would depend on."""
    many.edit("kernels/k3.cpp", "x + 3", "x + 3")
    assert all("k3.cpp." in step for step in many.compiled())
    many.setup("--reconfigure")
    assert "no work to do" in many.ninja()


@pytest.mark.smoke
def test_an_edited_header_rebuilds_the_copies_of_the_kernels_that_include_it(mixed):
    project = mixed
    project.edit("near/a/factor.h", "10", "11")
    compiled = project.compiled()
    assert len(compiled) == len(ALL)
    assert all("a_scale.c" in step for step in compiled)
    assert project.run(project.path("mixed")).stdout.startswith("77 700 ")


@pytest.mark.smoke
def test_editing_isa_toml_configures_again(hello):
    hello.edit("isagen/isa.toml", 'levels = ["all"]', 'levels = ["AVX2"]')
    hello.ninja()
    assert verdicts(hello)["AVX512"] == "disabled"
    assert not any("AVX512" in step for step in hello.steps())


def test_editing_a_kernel_does_not_configure_again(hello):
    hello.edit("kernels/dot.cpp", "sum = 0", "sum = 1")
    assert "The Meson build system" not in hello.ninja()


@pytest.mark.smoke
def test_c_and_cpp_kernels_of_the_same_name_in_two_folders(mixed):
    mixed.isagen("audit", mixed.build)  # exit status 0: nothing is found
    found = mixed.run(mixed.path("mixed")).stdout.split()
    assert found[:3] == ["70", "700", "1001"]
    assert found[3] in ("DEFAULT", "AVX2", "AVX512")
    assert found[5] == "20"
    table = {kernel["source"]: kernel["levels"] for kernel in matrix(mixed)["kernels"]}
    built = {
        source: [name for name, cell in levels.items() if cell["verdict"] == "built"]
        for source, levels in table.items()
    }
    assert built == {
        "near/a/scale.c": ALL,
        "near/b/scale.c": [name for name in ALL if name != "AMX"],
        "offset.cc": ["DEFAULT", "AVX2", "AVX512"],
    }
    assert "isa.toml: kernels.'near/b/scale.c'.levels" in table["near/b/scale.c"]["AMX"]["reason"]
    assert "-DEXTRA=1000" in table["offset.cc"]["AVX2"]["flags"]
    assert "-DEXTRA=1000" not in table["near/a/scale.c"]["AVX2"]["flags"]


@pytest.mark.smoke
@pytest.mark.parametrize(
    ("asked", "ran"),
    [("default", "DEFAULT"), ("AVX2", "AVX2"), ("avx2_vnni", "AVX2"), ("avx512", "AVX512"), ("avx512_vnni", "AVX512")],
)
def test_a_level_without_a_kernel_falls_to_the_best_below(mixed, asked, ran):
    done = mixed.run(mixed.path("mixed"), MIXED_ISA=asked)
    levels = done.stdout.splitlines()[-1].split()[3:5]
    assert levels[1] == level_that_runs(supported_levels(), asked.upper())
    if levels[1] != asked.upper():
        pytest.skip(f"this CPU does not support {asked}")
    assert levels[0] == ran


@pytest.mark.smoke
def test_copies_hold_no_absolute_path_and_lead_back_to_the_original(mixed):
    project = mixed
    emitted = [*project.path("isagen").glob("*.AVX2.*"), *project.path("isagen").glob("isa_dispatch.*")]
    assert {path.name for path in emitted} == {
        "a_scale.c.AVX2.c",
        "b_scale.c.AVX2.c",
        "offset.cc.AVX2.cc",
        "isa_dispatch.cpp",
    }
    emitted += project.path("isagen/isa_include").iterdir()
    for path in emitted:
        assert str(project.folder) not in path.read_text()
    project.edit("near/a/scale.c", "FACTOR;", "FACTR;")
    assert re.search(r"\.\./near/a/scale\.c:6:\d+: error", project.ninja(check=False))


def test_two_builds_in_different_folders_emit_the_same(new_project):
    emitted = []
    for folder in ("one", "other place"):
        project = new_project("mixed", folder)
        project.setup("-Ddebug=false")  # debug information names the folder of the build
        project.ninja()
        files = [*project.path("isagen").glob("*.*.c*"), *project.path("isagen").glob("isa_dispatch.*")]
        objects = list(project.path("isagen").glob("isa_*.o"))
        emitted.append({path.name: path.read_bytes() for path in (*files, *objects)})
    assert len(emitted[0]) > 20
    assert emitted[0] == emitted[1]


def test_a_folder_with_an_odd_name(new_project):
    project = new_project(None, "it's a Größe-π & more")
    project.isagen("init", "--name", "hello")
    project.setup(FEW)
    project.ninja()
    assert len(list(project.path("isagen").glob("isa_*.dot.cpp.o"))) == 3


def test_kernels_in_lists_of_lists(scaffold):
    """As targets take them. Meson said: fs.relative_to takes exactly 2 arguments, but got 3."""
    kernels = "[[[files('kernels/dot.cpp')]], [], files('kernels/level.cpp')]"
    scaffold.edit("meson.build", "files('kernels/dot.cpp', 'kernels/level.cpp')", kernels)
    assert re.search(r"AVX2 +: 2 of 2 kernels", scaffold.setup("-Disa_levels=AVX2"))


def test_one_kernel_that_is_in_no_list(scaffold):
    scaffold.edit("meson.build", "files('kernels/dot.cpp', 'kernels/level.cpp')", "files('kernels/level.cpp')[0]")
    assert re.search(r"AVX2 +: 1 of 1 kernel", scaffold.setup("-Disa_levels=AVX2"))


def test_a_packager_narrows_the_levels(scaffold):
    said = scaffold.setup("-Disa_levels=all,-AMX,-avx512_fp16")
    assert re.search(r"disabled +: AVX512_FP16 AMX by the Meson option isa_levels\n", said)
    scaffold.ninja()
    assert verdicts(scaffold) == {**dict.fromkeys(ALL, "built"), "AMX": "disabled", "AVX512_FP16": "disabled"}
    scaffold.run("meson", "configure", scaffold.build, "-Disa_levels=none")
    scaffold.ninja()
    assert verdicts(scaffold) == {**dict.fromkeys(ALL, "disabled"), "DEFAULT": "built"}


@pytest.mark.smoke
def test_the_summary_is_the_matrix(new_project):
    project = new_project("mixed")
    said = project.setup("-Disa_levels=-AVX512_FP16")
    assert re.search(r"AVX2 +: 3 of 3 kernels, -mavx2 -mfma -mf16c", said)
    assert re.search(r"disabled +: AVX512_FP16 by the Meson option isa_levels\n", said)
    assert re.search(r"offset\.cc +: only DEFAULT AVX2 AVX512", said)
    assert re.search(r"sealed +: yes", said)


@pytest.mark.smoke
def test_the_matrix_as_a_table(new_project):
    project = new_project("mixed")
    project.setup("-Disa_levels=-AVX512_FP16")
    said = project.isagen("matrix", project.build).stdout
    assert "near/a/scale.c" in said
    assert "not compiled" in said
    assert "\ndisabled: AVX512_FP16 by the Meson option isa_levels\n" in said
    project.ninja()
    assert "not compiled" not in project.isagen("matrix", project.build).stdout


@pytest.mark.smoke
def test_a_killed_build_goes_on(many):
    for path in many.path("isagen").glob("isa_AVX*.o"):
        path.unlink()
    many.path("isagen/k3.cpp.AVX2.cpp").unlink()
    (many.path("isagen") / "isa_plan.json").write_text('{"half": ')
    failed = many.ninja(check=False)
    assert "meson setup --reconfigure" in failed
    many.setup("--reconfigure")
    many.ninja()
    assert many.run(many.path("many")).stdout == f"{sum(range(KERNELS))}\n"


def test_editing_the_override_compiles_no_kernel(hello):
    hello.edit("isagen/isa.toml", '"HELLO_ISA"', '"OTHER_ISA"')
    compiled = [step for step in hello.steps() if "Compiling" in step]
    assert compiled
    assert not [step for step in compiled if "kernels" in step or "libisa" in step]


def test_arguments_of_one_kernel_compile_only_that_one(hello):
    hello.edit("isagen/isa.toml", "# [kernels", '[kernels."kernels/dot.cpp"]\nargs = ["-funroll-loops"]\n# [')
    compiled = [step for step in hello.steps() if "Compiling" in step and "libisa" in step]
    assert len(compiled) == len(ALL)
    assert all("dot.cpp" in step for step in compiled)


def test_a_fragment_of_another_version_says_what_to_do(scaffold):
    for old, new in (
        (f"--fragment-format={FRAGMENT_FORMAT}", "--fragment-format=70"),
        ("--fragment-format=70", "--no-such-thing=1"),
    ):
        scaffold.edit("isagen/meson.build", old, new)
        said = scaffold.setup(check=False)
        assert "the Meson fragment was not written by isagen" in said
        assert "run `isagen init`" in said


def test_the_matrix_of_an_unsealed_build(scaffold):
    scaffold.setup(FEW, "-Disa_seal=false", "-Disa_audit=off", "--buildtype=plain")
    scaffold.ninja()
    said = scaffold.isagen("matrix", "build").stdout
    assert "not compiled" not in said
    assert "optimization: as the compiler arguments say" in said


def test_an_override_that_names_a_level_which_is_not_built(new_project):
    project = new_project("leak")
    project.setup("-Disa_levels=AVX2")
    project.ninja()
    said = project.run(project.path("leak"), LEAK_ISA="avx512").stdout
    assert ("needs features that CPU" in said) == ("AVX512" not in supported_levels())
    if "needs features that CPU" not in said:
        assert "LEAK_ISA=AVX512 is not built into this binary; AVX2 is used" in said


def test_kernels_of_names_that_end_alike(new_project):
    project = new_project("leak")
    (project.folder / "_kernel.cpp").write_text((project.folder / "kernel.cpp").read_text())
    project.edit("meson.build", "files('kernel.cpp')", "files('kernel.cpp', '_kernel.cpp')")
    project.setup(FEW)
    assert re.search(r"by _?kernel\.cpp and by _?kernel\.cpp", project.ninja(check=False))
    assert "by kernel.cpp and by kernel.cpp" not in project.ninja(check=False)


def test_isagen_may_be_called_by_its_script(new_project):
    project = new_project("leak")
    project.edit("meson.build", "subdir('isagen')", "isa_command = [find_program('isagen')]\nsubdir('isagen')")
    project.setup(FEW)
    project.ninja()
    assert project.path("leak").exists()


def test_outputs_of_all_folders_in_one(scaffold):
    said = scaffold.setup("-Dlayout=flat", "-Disa_levels=AVX2")
    said += scaffold.ninja()
    assert "no target takes" not in said
    cells = [kernel["levels"][level] for kernel in matrix(scaffold)["kernels"] for level in ("DEFAULT", "AVX2")]
    assert all(cell["code"]["code_bytes"] > 0 for cell in cells)
    assert "levels DEFAULT AVX2\n  nothing found" in scaffold.isagen("audit", "build").stdout
    assert scaffold.steps() == []
