"""Several projects in one program, each a static library with kernels, stubs and a table of levels of its own."""

import pytest

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
