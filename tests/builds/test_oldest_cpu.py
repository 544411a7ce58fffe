"""Flags beyond the architecture's baseline: old CPUs get an ImportError or a message, not a crash."""

import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from isagen.configure.dispatch import dispatch_texts
from isagen.processors.table import load_table
from support.model import build_of
from support.pairs import paired
from support.projects import make_project, need
from support.registrations import plan_for

OLDEST = ("qemu-x86_64", "-cpu", "qemu64,-sse3,-cx16,-lahf_lm")
FLAGS = ["-march=x86-64-v3", "-march=x86-64-v4", "-march=native", "-mavx512f"]
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]
COMPILERS = {"gcc": "g++", "gcc-11": "g++-11", "clang-14": "clang++-14", "clang-16": "clang++-16"}
# A vector instruction, or one of bit manipulation, that the oldest CPU lacks. GNU as writes tzcnt for `rep bsf`.
NEW = re.compile(r"\t(v[a-z]\S*|popcnt|lzcnt|andn|bls\S+|[rs][aoh]\wx|pdep|pext|movbe|\S*[yz]mm.*)\s")
PROGRAM = """
#include "../kernels/dot.h"
#include <cstdio>
ISA_DEFINE_DISPATCH(dot_stub)
ISA_DEFINE_DISPATCH(level_stub)
int main() { std::puts(level_stub()); }
"""
TARGET = "\nexecutable('program', 'src/program.cpp', dependencies: isa_kernels_dep)\n"


def build(folder, compiler, flags, *options, name="project"):
    """Build an extension and a program of the same kernels, at the lowest level."""
    project = make_project(folder, folder=name)
    project.isagen("init", "--name", "hello")
    (project.folder / "src/program.cpp").write_text(PROGRAM)
    with (project.folder / "meson.build").open("a") as stream:
        stream.write(TARGET)
    arguments = {"CFLAGS": flags, "CXXFLAGS": flags, "CC": compiler, "CXX": COMPILERS[compiler]}
    project.said = project.setup("-Disa_levels=none", "-Dbuildtype=release", *options, **arguments)
    project.ninja()
    return project


def extension(project):
    (found,) = project.path("").glob("_core.*.so")
    return found


def import_it(project, *emulator):
    code = f"import sys; sys.path.insert(0, {str(project.path(''))!r}); import _core; print(_core.current_level())"
    return project.run(*emulator, sys.executable, "-c", code, check=False)


@pytest.mark.parametrize(
    ("table", "text"),
    [
        ("x86", '#pragma GCC push_options\n#pragma GCC target("arch=x86-64")\n#endif\n\n'),
        ("arm64", '#elif 1\n#pragma GCC target("arch=armv8-a")\n#endif\n#endif\n\n'),
    ],
)
def test_the_only_target_has_no_condition(table, text):
    assert text in dispatch_texts(build_of(plan_for()), load_table(table, Path()))[1]["isa_dispatch.c"]


@pytest.mark.parametrize(("compiler", "flags"), paired(["gcc", "clang-14"], FLAGS))
def test_the_oldest_cpu(tmp_path, compiler, flags):
    need(compiler, COMPILERS[compiler], "qemu-x86_64")
    project = build(tmp_path, compiler, flags)
    imported = import_it(project, *OLDEST)
    assert imported.returncode == 1, imported.stdout
    assert "ImportError: this module needs features that CPU or OS lack: " in imported.stdout
    assert " avx" in imported.stdout
    ran = project.run(*OLDEST, project.path("program"), check=False)
    assert ran.returncode in (-signal.SIGABRT, 128 + signal.SIGABRT), ran.stdout
    assert "error: this program or library is compiled for features that CPU or OS lack: " in ran.stdout
    assert " avx" in ran.stdout
    assert re.search(r"WARNING: isagen: every user's CPU must have .*\bavx\b.* \(cpp_args: " + flags, project.said)
    assert re.search(r"baseline +: .*\bavx\b", project.said)


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    """The generated dispatch source and headers of a project, and a module that uses them."""
    project = make_project(tmp_path_factory.mktemp("sources"))
    project.isagen("init", "--name", "hello")
    project.setup("-Disa_levels=AVX2")
    project.run("ninja", "-C", project.build, "isagen/isa_dispatch.cpp")
    return project.path("isagen")


@pytest.mark.parametrize(("compiler", "optimization"), paired(COMPILERS, ["-O3", "-O0"]))
def test_no_function_of_the_dispatch_source_uses_more(sources, compiler, optimization):
    need(compiler, COMPILERS[compiler], "objdump")
    for flags in [*FLAGS, "-march=haswell", "-march=sapphirerapids -mtune=native -D_FORTIFY_SOURCE=2"]:
        for command in ([compiler, "-std=c11", "-x", "c"], [COMPILERS[compiler], "-std=c++17"]):
            words = [
                *command,
                *flags.split(),
                optimization,
                *WARNINGS,
                "-fPIC",
                "-Iisa_include",
                "-c",
                "isa_dispatch.cpp",
            ]
            done = subprocess.run(
                [*words, "-o", "dispatch.o"], cwd=sources, capture_output=True, text=True, check=False
            )
            assert done.returncode == 0, done.stderr
            said = subprocess.run(["objdump", "-d", sources / "dispatch.o"], capture_output=True, text=True, check=True)
            assert "<isa_level_name" in said.stdout
            assert not NEW.findall(said.stdout), (command, flags)
