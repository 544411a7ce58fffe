"""What isagen says after a failed link of objects that it finds elsewhere than the linker, or cannot read."""

import pytest

from support.prepared import FEW
from support.projects import Project, need

MESON = """
project('several', 'c', 'cpp', default_options: ['cpp_std=c++17', 'c_std=gnu11', 'buildtype=release'])
isa_sets = {'first': {'kernels': files('one.c')}, 'second': {'kernels': files('two.cpp')}}
subdir('isagen')
first = isa_kernels_deps['first']
second = isa_kernels_deps['second']
one = static_library('one', 'one_stub.c', dependencies: first)
two = static_library('two', 'two_stub.c', dependencies: second)
both = static_library('both', 'one_stub.c', 'two_stub.c', dependencies: [first, second])
executable('direct', 'main.c', 'one_stub.c', 'two_stub.c', dependencies: [first, second])
executable('one_archive', 'main.c', link_with: both)
executable('two_archives', 'main.c', link_with: [one, two])
executable('mixed', 'main.c', 'one_stub.c', link_with: two, dependencies: first)
executable('second_only', 'main_two.c', 'two_stub.c', dependencies: second)
"""
STUB = '#include "stubs.h"\nISA_DEFINE_DISPATCH({0})\nint run_{0}(void) {{ return {0}(); }}\n'
FILES = {
    "stubs.h": (
        '#include "isa_dispatch.h"\ntypedef int (*stub_fn)(void);\n'
        "ISA_DECLARE_DISPATCH(stub_fn, one)\nISA_DECLARE_DISPATCH(stub_fn, two)\n"
    ),
    "one.c": '#include "stubs.h"\nstatic int f(void) { return 1; }\nISA_REGISTER_DISPATCH(one, &f)\n',
    "two.cpp": (
        '#include "stubs.h"\nISA_DECLARE_DISPATCH(stub_fn, more)\nstatic int f() { return 2; }\n'
        "ISA_REGISTER_DISPATCH(two, &f)\nISA_REGISTER_DISPATCH(more, &f)\n"
    ),
    "one_stub.c": STUB.format("one"),
    "two_stub.c": STUB.format("two") + "ISA_DECLARE_DISPATCH(stub_fn, more)\nISA_DEFINE_DISPATCH(more)\n",
    "main.c": "int run_one(void), run_two(void);\nint main(void) { return run_one() + run_two(); }\n",
    "main_two.c": "int run_two(void);\nint main(void) { return run_two(); }\n",
    "meson.build": MESON,
}
ALL = ["direct", "one_archive", "two_archives", "mixed"]
NOT_DEFINED = "isagen: error: two: {} registers a kernel for it, but no source of this target defines it\n"
NOT_REGISTERED = "defines it, but no kernel source registers a function for it\n"


@pytest.fixture
def project(new_project) -> Project:
    project = new_project(None)
    for name, text in FILES.items():
        (project.folder / name).write_text(text)
    project.isagen("init")
    return project


def said(project: Project, target: str) -> str:
    """What a failed build of a target prints."""
    done = project.run("ninja", "-C", project.build, target, check=False)
    assert done.returncode != 0
    return done.stdout


@pytest.mark.parametrize("options", [[], ["--unity=on"]], ids=["", "unity"])
def test_a_stub_that_is_not_defined(project, options):
    project.edit("two_stub.c", "ISA_DEFINE_DISPATCH(two)\n", "")
    project.setup(FEW, *options)
    for target in [*ALL, "second_only"]:
        printed = said(project, target)
        assert any(NOT_DEFINED.format(source) in printed for source in ("two.cpp", "a kernel source")), target
        assert printed.count("isagen: error:") == 1, target


@pytest.mark.parametrize("options", [[], ["--unity=on"]], ids=["", "unity"])
def test_a_stub_that_no_kernel_registers(project, options):
    project.edit("two.cpp", "ISA_REGISTER_DISPATCH(two, &f)\n", "")
    project.setup(FEW, *options)
    for target in [*ALL, "second_only"]:
        printed = said(project, target)
        assert "isagen: error: two: " in printed, target
        assert NOT_REGISTERED in printed, target
        assert printed.count("isagen: error:") == 1, target


def test_a_stub_of_a_set_that_the_target_does_not_link(project):
    project.edit("two_stub.c", "ISA_DEFINE_DISPATCH(more)", "ISA_DEFINE_DISPATCH(more)\nISA_DEFINE_DISPATCH(one)")
    project.setup(FEW)
    project.run("ninja", "-C", project.build, "libone.a")  # the other set's table is there
    printed = said(project, "second_only")
    assert "isagen: error: one: " in printed
    assert " defines it, but the set first, which registers it, is not linked\n" in printed
    assert "add isa_kernels_deps['first'] to the target's dependencies" in printed
    assert printed.count("isagen: error:") == 1


def test_a_plan_of_an_earlier_isagen_hides_no_mistake(project):
    """The plan of a set that the project no longer has stays in the build folder, and configuring does not renew it."""
    project.edit("two_stub.c", "ISA_DEFINE_DISPATCH(more)", "ISA_DEFINE_DISPATCH(more)\nISA_DEFINE_DISPATCH(other)")
    project.edit("stubs.h", "(stub_fn, two)", "(stub_fn, two)\nISA_DECLARE_DISPATCH(stub_fn, other)")
    project.setup(FEW)
    project.path("isagen/isa_plan.earlier.json").write_text("{}")
    printed = said(project, "second_only")
    assert "isagen: error: other: " in printed
    assert NOT_REGISTERED in printed


def test_common_variables_are_not_blamed_for_something_else(project):
    """The linker merges common variables, so that kernels may define them at each level."""
    need("gcc")
    project.edit("one.c", "static int f", "int calls;\nstatic int f")
    project.edit("one.c", "return 1", "return ++calls")
    project.setup(FEW, "-Dc_args=-fcommon")
    project.run("ninja", "-C", project.build)
    project.edit("main.c", "int main(void) { return", "int nowhere(void);\nint main(void) { return nowhere() +")
    printed = said(project, "direct")
    assert "nowhere" in printed
    assert "isagen: error:" not in printed


@pytest.mark.parametrize(
    ("compiler", "linker", "lto"),
    [("gcc", "bfd", "false"), ("gcc", "bfd", "true"), ("clang-14", "lld", "true")],
)
def test_stubs_are_not_blamed_for_something_else(project, compiler, linker, lto):
    """Objects for link-time optimisation hold the definitions of stubs, and isagen reads no such objects."""
    need(compiler, f"ld.{linker}")
    for name in ("main.c", "main_two.c"):
        project.edit(name, "int main(void) { return", "int nowhere(void);\nint main(void) { return nowhere() +")
    cxx = compiler.replace("gcc", "g++").replace("clang", "clang++")
    project.setup(FEW, f"-Db_lto={lto}", CC=compiler, CXX=cxx, CC_LD=linker, CXX_LD=linker)
    for target in [*ALL, "second_only"]:
        printed = said(project, target)
        assert "nowhere" in printed, target
        assert "isagen: error:" not in printed, target


def test_stubs_in_a_library_of_another_build_are_not_blamed(project):
    """Each stub that the library defines was an error, beside the one symbol that is missing."""
    archive = project.folder / "libelsewhere.a"
    arguments = f"link_args: ['{archive}'], link_depends: ['{archive}'], dependencies: [first, second]"
    project.edit("meson.build", MESON, f"{MESON}executable('elsewhere', 'main.c', 'one_stub.c', {arguments})\n")
    archive.write_bytes(b"!<arch>\n")
    project.setup(FEW)
    project.run("gcc", "-I", "build/isagen/isa_include.second", "-c", "two_stub.c", "-o", "two_stub.o")
    project.run("gcc-ar", "crs", str(archive), "two_stub.o")
    project.run("ninja", "-C", project.build, "elsewhere")
    project.edit("main.c", "int main(void) { return", "int nowhere(void);\nint main(void) { return nowhere() +")
    printed = said(project, "elsewhere")
    assert "nowhere" in printed
    assert "isagen: error:" not in printed
