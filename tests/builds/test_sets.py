"""Several sets of kernels in one project, generated kernels, and what a set takes from the project."""

import json
import re
import subprocess

import pytest

from support.levels import level_that_runs, supported_levels
from support.projects import make_project, need


@pytest.fixture(scope="module")
def sets(tmp_path_factory):
    project = make_project(tmp_path_factory.mktemp("sets"), "sets")
    project.setup()
    project.ninja()
    return project


def lines(project, **environment):
    return project.run(project.path("one"), **environment).stdout.splitlines()


@pytest.mark.smoke
def test_each_set_has_its_levels_and_its_override(sets):
    best = level_that_runs(supported_levels(), "AVX2")
    top = level_that_runs({best, *({"AVX512"} & set(supported_levels()))}, "AVX512")
    assert lines(sets) == [f"mean {top}", f"conf7 {best}", f"custom {best}", f"run {best}"]
    assert lines(sets, STATS_ISA="default") == ["mean DEFAULT", f"conf7 {best}", f"custom {best}", f"run {best}"]
    assert lines(sets, GEN_ISA="default")[1:] == ["conf7 DEFAULT", "custom DEFAULT", "run DEFAULT"]


def test_a_set_without_kernels_has_queries(sets):
    assert sets.run(sets.path("without")).stdout == "DEFAULT 0\n"


def test_a_set_that_no_target_takes(new_project):
    project = new_project("sets")
    project.edit("meson.build", "executable('without', 'without.c', dependencies: isa_kernels_deps['none'])\n", "")
    said = project.setup("-Disa_levels=none")
    assert "isagen: warning: meson.build: no target takes isa_kernels_deps['none']: no kernel is linked" in said
    assert "\n  give a target dependencies: isa_kernels_deps['none']\n" in said


@pytest.mark.smoke
def test_matrix_and_audit_know_all_sets(sets):
    assert sets.isagen("audit", "build").returncode == 0
    said = sets.isagen("matrix", "build").stdout
    for name, count in (("stats", "1 kernel x"), ("gen", "3 kernels x"), ("none", "0 kernels x")):
        assert f"sets.{name}: {count}" in said
    assert "(stats)" in said


def test_edits_compile_what_they_change(sets):
    assert sets.steps() == []
    sets.edit("gen/run.c.txt", "NEAR", 'NEAR ""')
    compiled = sets.compiled()
    assert len(compiled) == 2
    assert all("gen.run.c." in step for step in compiled)
    assert lines(sets)[3].startswith("run ")


def test_sealing_is_no_reason_to_compile_again(sets):
    sets.setup("--reconfigure", "-Disa_seal=false", "-Disa_audit=off")
    try:
        compiled = sets.compiled(check=False)
        assert compiled
        assert all("isa_dispatch" in step for step in compiled)
    finally:
        sets.setup("--reconfigure", "-Disa_seal=true", "-Disa_audit=error")
        sets.ninja()


def commands_of(project, source):
    found = json.loads(project.path("compile_commands.json").read_text())
    return [entry["command"] for entry in found if entry["file"] == f"../{source}"]


@pytest.mark.parametrize("compiler", ["c++", "clang++-16"])
def test_editors_see_each_kernel_once(sets, compiler):
    """Also those that read arguments as Clang does, such as clangd."""
    need(compiler)
    (command,) = commands_of(sets, "stats/mean.cpp")
    assert "-DCPU_CAPABILITY=AVX512" in command
    words = re.sub(r" -o \S+| -MF \S+| -MQ \S+| -MD| -c", "", command).partition("c++ ")[2]
    checked = f"{compiler} {words} -include string -fsyntax-only"  # only builds make the precompiled header
    done = subprocess.run(checked, shell=True, cwd=sets.path(""), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(("option", "count"), [("avx2", 1), ("none", 0)])
def test_the_level_of_editors_is_an_option(sets, option, count):
    sets.setup("--reconfigure", f"-Disa_editor={option}")
    found = commands_of(sets, "stats/mean.cpp")
    assert len(found) == count
    assert all("-DCPU_CAPABILITY=AVX2" in command for command in found)


# ---- mistakes

MISTAKES = {
    "an unknown word": ("meson.build", "'cpp_pch':", "'pch':", "isa_sets: stats: pch is unknown: keys are kernels, "),
    "a string": ("meson.build", "files('stats/mean.cpp')", "['mean.cpp']", "is a string: name kernels with files()"),
    "a name": ("meson.build", "'none': {}", "'no-ne': {}", "isa_sets: 'no-ne' cannot name a set of kernels"),
    "settings of no set": ("isagen/isa.toml", "[sets.stats]", "[sets.stat]", "isa.toml: sets: 'stat' is no set"),
    "a kernel of no set": ("isagen/isa.toml", "gen/run.c", "gen/runs.c", "did you mean 'gen/run.c'?"),
    "a level for editors": ("meson_options.txt", "value: 'best'", "value: 'AVX3'", "isa_editor: unknown level 'AVX3'"),
    "a suffix of no language": ("meson.build", "'conf.c'", "'conf.x'", "conf.x: is not C, C++, Fortran or assembly"),
}  # fmt: skip


@pytest.mark.parametrize(("file", "old", "new", "expected"), MISTAKES.values(), ids=MISTAKES)
def test_mistakes(new_project, file, old, new, expected):
    project = new_project("sets")
    project.edit(file, old, new)
    said = project.setup(check=False)
    assert expected in said
    assert said.count("ERROR") == 1


# ---- two fragments


def test_two_fragments_in_one_project(new_project):
    project = new_project()
    (project.folder / "meson.build").write_text(
        """project('two', 'c', meson_version: '>=1.0.1')
isa_kernels = files('a.c')
subdir('one')
first = isa_kernels_dep
isa_kernels = files('b.c')
subdir('other')
executable('both', 'main.c', dependencies: [first, isa_kernels_dep])
"""
    )
    header = '#include "isa_dispatch.h"\ntypedef int (*fn)(void);\n'
    for name in "ab":
        (project.folder / f"{name}.h").write_text(f"{header}ISA_DECLARE_DISPATCH(fn, {name}_stub)\n")
        (project.folder / f"{name}.c").write_text(
            f'#include "{name}.h"\nstatic int f(void) {{ return 1; }}\nISA_REGISTER_DISPATCH({name}_stub, &f)\n'
        )
    (project.folder / "main.c").write_text(
        '#include "a.h"\n#undef ISA_DISPATCH_H\nISA_DEFINE_DISPATCH(a_stub)\n'
        "ISA_DECLARE_DISPATCH(fn, b_stub)\nISA_DEFINE_DISPATCH(b_stub)\n"
        "int main(void) { return a_stub() + b_stub(); }\n"
    )
    assert "subdir('one')" not in project.isagen("init", "--fragment", "one").stdout
    project.edit("meson.build", "subdir('other')", "")
    assert "subdir('other')" in project.isagen("init", "--fragment", "other").stdout
    project.edit("meson.build", "isa_kernels = files('b.c')", "isa_kernels = files('b.c')\nsubdir('other')")
    said = project.setup("-Disa_levels=AVX2")
    assert "kernels by CPU level\n" in said
    assert "kernels by CPU level in other\n" in said
    project.ninja()
    assert project.run(project.path("both"), check=False).returncode == 2
