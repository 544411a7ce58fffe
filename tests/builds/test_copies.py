"""Copies include their sources: compilers, debuggers and ninja see the source as if it were compiled where it is."""

import pytest

from isagen.model.names import guard_name
from support.projects import Project, compilations, make_project, need

KERNEL = """#include "near.h"
#include "stub.h"
namespace { struct inner { int x; }; }
struct outer { inner one; };  // of which GCC warns in headers alone
namespace { const char *whereabouts() { return __FILE__ " " NEAR; } }
ISA_REGISTER_DISPATCH(one_stub, &whereabouts)
"""
STUB = """#pragma once
#include "isa_dispatch.h"
typedef const char *(*one_fn)();
ISA_DECLARE_DISPATCH(one_fn, one_stub)
"""
MAIN = """#include "stub.h"
#include <cstdio>
ISA_DEFINE_DISPATCH(one_stub)
int main() { std::puts(one_stub()); std::puts(__FILE__); }
"""
BUILD = """project('copies', 'cpp', default_options: ['cpp_std=c++17', 'warning_level=3', 'werror=true'])
isa_kernels = files('kernels of mine/k one.cpp')
isa_include_directories = include_directories('inc')
subdir('isagen')
executable('copies', 'main.cpp', dependencies: isa_kernels_dep, include_directories: 'inc')
"""


@pytest.fixture(params=["g++", "clang++-16"])
def project(request, tmp_path) -> Project:
    """A project with a blank in its paths; two headers have the name of the one beside the kernel, in other folders."""
    need(request.param)
    project = make_project(tmp_path, folder="of mine")
    texts = {
        "kernels of mine/k one.cpp": KERNEL,
        "kernels of mine/near.h": '#define NEAR "near"\n',
        "inc/near.h": '#define NEAR "of the folder of includes"\n',
        "near.h": '#define NEAR "of the project"\n',
        "inc/stub.h": STUB,
        "main.cpp": MAIN,
        "meson.build": BUILD,
    }
    for name, text in texts.items():
        (project.folder / name).parent.mkdir(exist_ok=True)
        (project.folder / name).write_text(text)
    project.isagen("init")
    project.environment |= {"CXX": request.param, "CCACHE_DISABLE": "1"}
    return project


@pytest.mark.parametrize("build", ["bu ild", "../elsewhere/build"])
def test_a_source_is_named_and_finds_what_is_near_as_if_it_were_compiled(project, build):
    project.build = build
    project.setup("-Disa_levels=AVX2")
    project.ninja()
    kernel, program = project.run(project.path("copies")).stdout.splitlines()
    assert kernel == f"{program.removesuffix('main.cpp')}kernels of mine/k one.cpp near"


def test_messages_name_the_source_and_the_copy(project):
    project.setup("-Disa_levels=AVX2")
    project.edit("kernels of mine/k one.cpp", "return __FILE__", "return missing __FILE__")
    said = project.ninja(check=False)
    assert "kernels of mine/k one.cpp:5:" in said
    for level in ("DEFAULT", "AVX2"):
        assert f"In file included from isagen/k one.cpp.{level}.cpp:3" in said


def test_ninja_knows_what_a_copy_includes(project):
    """The source, what is near, and the guard; an edit of each compiles the copies, and runs no step before."""
    project.setup("-Disa_levels=AVX2")
    project.ninja()
    (output,) = (
        name
        for name in project.run("ninja", "-C", project.build, "-t", "deps").stdout.splitlines()
        if "AVX2.cpp.o" in name
    )
    deps = project.run("ninja", "-C", project.build, "-t", "deps", output.partition(".o:")[0] + ".o").stdout
    for name in ("kernels of mine/k one.cpp", "kernels of mine/near.h", guard_name("AVX2")):
        assert name in deps
    for name, old in (("kernels of mine/k one.cpp", "return"), ("kernels of mine/near.h", "#define")):
        project.edit(name, old, f"/* edited */ {old}")
        steps = project.steps()
        assert "Compiling" in steps[0]
        assert len(compilations(steps)) == 2


def test_another_file_is_not_compiled_in_the_place_of_a_source_that_is_gone(project):
    """Compilers would look for it from the folders of includes, too: the build folder is one."""
    project.setup("-Disa_levels=none")
    source = project.folder / "kernels of mine/k one.cpp"
    other = project.folder.parent / "kernels of mine/k one.cpp"
    other.parent.mkdir()
    source.rename(other)
    said = project.ninja(check=False)
    assert "kernels of mine/k one.cpp" in said
    assert "missing and no known rule to make it" in said
    other.rename(source)
    project.ninja()
