"""Several projects in one program, each a static library with kernels, stubs and a table of levels of its own."""

import subprocess
from pathlib import Path

import pytest

from isagen.build.tables import check_stubs
from isagen.model.errors import BuildError
from isagen.model.names import UNREGISTERED_SYMBOL
from support.projects import Project, need

COMPILERS = pytest.mark.parametrize("compiler", ["g++", "clang++-16"])
MESON = """\
project('{name}', 'cpp', meson_version: '>=1.0.1', default_options: ['cpp_std=c++17'])
isa_kernels = files('kernel.cpp')
subdir('isagen')
dep = declare_dependency(link_with: static_library('lib{number}', 'run.cpp', 'stub.cpp', dependencies: isa_kernels_dep))
"""
STUB = '#include "isa_dispatch.h"\ntypedef int (*fn)(int);\nISA_DECLARE_DISPATCH(fn, {stub})\n'
KERNEL = '#include "stub.h"\nstatic int f(int x) {{ return x + {number}; }}\nISA_REGISTER_DISPATCH({stub}, &f)\n'
OUTER = """\
project('outer', 'cpp', meson_version: '>=1.0.1')
deps = []
foreach name : [{names}]
  deps += subproject(name).get_variable('dep')
endforeach
executable('program', 'main.cpp', dependencies: deps)
"""


@pytest.fixture
def program(new_project):
    """Make a program of projects, given with the names of their stubs; it prints what the stub of each returns."""

    def make(**stubs: str) -> Project:
        project = new_project()
        names = [name.replace("__", "-") for name in stubs]
        for number, (name, stub) in enumerate(zip(names, stubs.values(), strict=True)):
            folder = project.folder / "subprojects" / name
            folder.mkdir(parents=True)
            for file, text in {
                "meson.build": MESON,
                "stub.h": STUB,
                "kernel.cpp": KERNEL,
                "stub.cpp": '#include "stub.h"\nISA_DEFINE_DISPATCH({stub})\n',
                "run.cpp": '#include "stub.h"\nint run{number}() {{ return {stub}(10); }}\n',
            }.items():
                (folder / file).write_text(text.format(name=name, number=number, stub=stub))
            project.isagen("init", str(folder))
        (project.folder / "meson.build").write_text(OUTER.format(names=", ".join(map(repr, names))))
        calls = "".join(
            f'int run{n}();\nstatic const int r{n} = std::printf("%d\\n", run{n}());\n' for n in range(len(names))
        )
        (project.folder / "main.cpp").write_text(f"#include <cstdio>\n{calls}int main() {{}}\n")
        return project

    return make


def levels(*names: str) -> list[str]:
    """The options by which subprojects have few levels."""
    return [f"-D{name}:isa_levels=AVX2" for name in names]


@COMPILERS
def test_projects_with_names_that_are_nearly_the_same(program, compiler):
    need(compiler)
    project = program(foo__bar="one", foo_bar="two")
    project.setup(*levels("foo-bar", "foo_bar"), CXX=compiler)
    project.ninja()
    assert project.run(project.path("program")).stdout == "10\n11\n"


@COMPILERS
def test_the_same_stub_in_two_static_libraries(program, compiler):
    """The linker finds it in the first, and never looks for the second one's table."""
    need(compiler)
    project = program(one="same_stub", two="same_stub")
    project.setup(*levels("one", "two"), CXX=compiler)
    said = project.ninja(check=False)
    assert (
        "isagen: error: same_stub: is a stub of subprojects/one/liblib0.a and of subprojects/two/liblib1.a, and the "
        "linker uses one of them for both\n"
        "  rename one: a stub's name is unique in the program\n"
    ) in said
    assert not project.path("program").exists()


@pytest.mark.parametrize("ar", [["ar", "rcs"], ["ar", "rcsT"], ["llvm-ar-16", "rcs"]], ids=" ".join)
def test_a_stub_of_the_program_and_of_an_archive_from_elsewhere(tmp_path, monkeypatch, ar):
    need("gcc", ar[0])
    monkeypatch.chdir(tmp_path)
    for folder, project, stubs in (("own", "one", "ab"), ("again", "one", "a"), ("other", "two", "cb")):
        text = f"int isa_stubs_{project};\n" + "".join(f"int {UNREGISTERED_SYMBOL}{stub};\n" for stub in stubs)
        Path(folder).mkdir()
        Path(folder, "isa_stubs.c").write_text(text)
        subprocess.run(["gcc", "-c", "isa_stubs.c"], cwd=folder, check=True)
        subprocess.run([*ar, "lib.a", "isa_stubs.o"], cwd=folder, check=True)
    check_stubs(["own/isa_stubs.o", "again/lib.a", "own/lib.a", "none.a"])
    with pytest.raises(BuildError, match=r"^b: is a stub of own/isa_stubs\.o and of other/lib\.a, "):
        check_stubs(["own/isa_stubs.o", "other/lib.a"])


def test_two_static_libraries_of_one_set(program):
    """Each has the whole set: the linker takes one of them, which is the other."""
    project = program(one="same_stub")
    project.edit("subprojects/one/meson.build", "dep = declare_dependency(link_with: ", "libs = [")
    with (project.folder / "subprojects/one/meson.build").open("a") as stream:
        stream.write("libs += static_library('more', 'more.cpp', 'stub.cpp', dependencies: isa_kernels_dep)\n")
        stream.write("dep = declare_dependency(link_with: libs)\n")
    project.edit("subprojects/one/meson.build", "isa_kernels_dep))", "isa_kernels_dep)]")
    (project.folder / "subprojects/one/more.cpp").write_text(
        '#include "stub.h"\nint more() { return same_stub(20); }\n'
    )
    project.edit("main.cpp", "int main() {}", 'int more();\nint main() { std::printf("%d\\n", more()); }')
    project.setup(*levels("one"))
    project.ninja()
    assert project.run(project.path("program")).stdout == "10\n20\n"


TABLE = """\
extends = "x86"
keep = ["DEFAULT", "AVX2"]
[levels.AVX2]
features = ["avx", "avx2"]
flags.gnu = ["-mavx2"]
probe = "return (int)_mm256_extract_epi64(_mm256_set1_epi8((char)argc), 0);"
"""
WITH_FMA = """
#ifdef __FMA__
#include <immintrin.h>
static int f(int x) { return (int)_mm_cvtss_f32(_mm_fmadd_ss(_mm_set_ss((float)x), _mm_set_ss(1), _mm_set_ss(1))); }
#else
static int f(int x) { return x + 1; }
#endif
"""


@COMPILERS
def test_one_name_for_two_levels(program, compiler):
    """The code of both is in one section: it is judged by what both projects check."""
    need(compiler)
    project = program(one="a_stub", two="b_stub")
    (project.folder / "subprojects/one/isagen/own.toml").write_text(TABLE)
    project.edit("subprojects/one/isagen/isa.toml", 'table = "default"', 'table = "own.toml"')
    project.setup(*levels("one", "two"), CXX=compiler)
    project.ninja()
    assert project.run(project.path("program")).stdout == "10\n11\n"

    project.edit("subprojects/two/kernel.cpp", "static int f(int x) { return x + 1; }", WITH_FMA)
    said = project.ninja(check=False)
    assert "isagen audit: error: program: " in said
    assert "\n      needs     fma\n" in said
    assert not project.path("program").exists()
