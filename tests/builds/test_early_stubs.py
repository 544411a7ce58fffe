"""A stub that is called before the selection says so, and ends the program."""

import signal

import pytest

from support.projects import make_project

SOURCE = """
#include "../kernels/dot.h"
ISA_DEFINE_DISPATCH(dot_stub)
ISA_DEFINE_DISPATCH(level_stub)
#ifdef IFUNC
extern "C" { static int one() { return 1; }
int (*resolve())() { level_stub(); return one; }
int chosen() __attribute__((ifunc("resolve"))); }
int main() { return chosen(); }
#else
__attribute__((constructor(100))) static void start() { level_stub(); }
int main() { }
#endif
"""
TARGETS = """
executable('constructor', 'src/early.cpp', dependencies: isa_kernels_dep, cpp_args: '-Wno-prio-ctor-dtor')
executable('ifunc', 'src/early.cpp', dependencies: isa_kernels_dep, cpp_args: '-DIFUNC', link_args: '-Wl,-z,now')
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    project = make_project(tmp_path_factory.mktemp("early"))
    project.isagen("init", "--name", "hello")
    (project.folder / "src/early.cpp").write_text(SOURCE)
    with (project.folder / "meson.build").open("a") as stream:
        stream.write(TARGETS)
    project.setup("-Disa_levels=none", "-Disa_audit=off")
    project.ninja()
    return project


@pytest.mark.parametrize("caller", ["constructor", "ifunc"])
def test_the_message(project, caller):
    done = project.run(project.path(caller), check=False)
    assert done.returncode == -signal.SIGABRT
    assert done.stdout.startswith("error: level_stub was called before its kernel was selected")
    assert "lowest level" not in done.stdout
