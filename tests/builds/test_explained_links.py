"""What isagen says after a failed link of objects that it finds elsewhere than the linker, or cannot read."""

import pytest

from support.prepared import FEW
from support.projects import Project, need

MESON = """
project('several', 'c', 'cpp', default_options: ['cpp_std=c++17', 'c_std=gnu11', 'buildtype=release'])
isa_kernels = files('one.c', 'two.cpp')
subdir('isagen')
library = static_library('library', 'stubs.c', 'run.c', dependencies: isa_kernels_dep)
executable('archived', 'main.c', link_with: library)
executable('direct', 'main.c', 'stubs.c', 'run.c', dependencies: isa_kernels_dep, build_by_default: false)
"""
FILES = {
    "stubs.h": (
        '#include "isa_dispatch.h"\ntypedef int (*stub_fn)(void);\n'
        "ISA_DECLARE_DISPATCH(stub_fn, one)\nISA_DECLARE_DISPATCH(stub_fn, two)\n"
    ),
    "one.c": '#include "stubs.h"\nstatic int f(void) { return 1; }\nISA_REGISTER_DISPATCH(one, &f)\n',
    "two.cpp": '#include "stubs.h"\nstatic int f() { return 2; }\nISA_REGISTER_DISPATCH(two, &f)\n',
    "stubs.c": '#include "stubs.h"\nISA_DEFINE_DISPATCH(one)\nISA_DEFINE_DISPATCH(two)\n',
    "run.c": '#include "stubs.h"\nint run(void) { return one(); }\n',
    "main.c": "int run(void);\nint main(void) { return run(); }\n",
    "meson.build": MESON,
}
NOT_DEFINED = "isagen: error: two: two.cpp registers a kernel for it, but no source of this target defines it\n"
NOT_REGISTERED = "stubs.c.o defines it, but no kernel source registers a function for it\n"


@pytest.fixture
def project(new_project) -> Project:
    project = new_project(None)
    for name, text in FILES.items():
        (project.folder / name).write_text(text)
    project.isagen("init")
    return project


@pytest.mark.parametrize("target", ["archived", "direct"])
@pytest.mark.parametrize(
    ("edit", "said"),
    [
        (("stubs.c", "ISA_DEFINE_DISPATCH(two)\n", ""), NOT_DEFINED),
        (("two.cpp", "ISA_REGISTER_DISPATCH(two, &f)\n", ""), NOT_REGISTERED),
    ],
    ids=["not defined", "not registered"],
)
def test_kernels_may_be_in_an_archive(project, target, edit, said):
    project.edit(*edit)
    project.edit("run.c", "return one()", "return one() + two()")
    project.setup(FEW)
    printed = project.run("ninja", "-C", project.build, target, check=False).stdout
    assert said in printed
    assert printed.count("isagen: error:") == 1


@pytest.mark.parametrize(("compiler", "linker"), [("gcc", "bfd"), ("clang-14", "lld")])
def test_objects_for_link_time_optimisation_are_not_taken_for_empty_ones(project, compiler, linker):
    """They hold the definitions of stubs, and isagen reads no such objects."""
    need(compiler, f"ld.{linker}")
    project.edit("main.c", "return run()", "return run() + nowhere()")
    project.edit("main.c", "int run(void);", "int run(void), nowhere(void);")
    cxx = compiler.replace("gcc", "g++").replace("clang", "clang++")
    project.setup(FEW, "-Db_lto=true", CC=compiler, CXX=cxx, CC_LD=linker, CXX_LD=linker)
    printed = project.run("ninja", "-C", project.build, "direct", check=False).stdout
    assert "nowhere" in printed
    assert "isagen: error:" not in printed
