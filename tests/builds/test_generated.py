"""Generated code is C11 and C++17 without warnings, and the committed fragment equals its template."""

import re
import shutil
import subprocess
import sysconfig
from pathlib import Path

import pytest

import isagen
from isagen.project.init import is_unchanged
from support.checkout import ROOT
from support.pairs import paired
from support.projects import need

C_COMPILERS = ["gcc", "gcc-11", "clang-14", "clang-16"]


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    """The dispatch header and source of a built project, and the source of one without kernels."""
    import os
    import sys

    folder = tmp_path_factory.mktemp("generated")
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    commands = (
        [sys.executable, "-m", "isagen", "init", "--name", "hello"],
        ["meson", "setup", "build"],
        ["ninja", "-C", "build", "isagen/isa_dispatch.cpp"],
    )
    for command in commands:
        subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True)
    shutil.copy(folder / "build/isagen/isa_dispatch.cpp", folder / "isa_dispatch.c")
    for name in ("isa_include/isa_dispatch.h", "isa_include/isa_python.h", "isa_dispatch.cpp"):
        shutil.copy(folder / "build/isagen" / name, folder)
    meson = folder / "meson.build"
    meson.write_text(re.sub(r"isa_kernels = .*", "isa_kernels = []", meson.read_text()))
    subprocess.run(commands[-1], cwd=folder, env=environment, check=True, capture_output=True)
    for suffix in ("c", "cpp"):
        shutil.copy(folder / "build/isagen/isa_dispatch.cpp", folder / f"empty.{suffix}")
    return folder


@pytest.mark.parametrize(("compiler", "optimization"), paired(C_COMPILERS, ["-O0", "-O2"]))
@pytest.mark.parametrize("name", ["isa_dispatch.c", "isa_dispatch.cpp", "empty.c", "empty.cpp"])
def test_the_dispatch_source_compiles_without_warnings(sources, compiler, name, optimization):
    need(compiler)
    standard = "c++17" if name.endswith(".cpp") else "c11"
    warnings = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Werror"]
    command = [compiler, f"-std={standard}", optimization, *warnings, "-fPIC", "-c", name, "-o", "/dev/null"]
    done = subprocess.run(command, cwd=sources, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(("compiler", "limited"), paired(C_COMPILERS, [[], ["-DPy_LIMITED_API=0x030b0000"]]))
@pytest.mark.parametrize(("suffix", "standard"), [("c", "c11"), ("cpp", "c++17")])
def test_the_python_header_compiles_without_warnings(sources, compiler, suffix, standard, limited):
    need(compiler)
    text = '#include <Python.h>\n#include "isa_python.h"\nint add(PyObject *m);\n'
    (sources / f"python.{suffix}").write_text(text + "int add(PyObject *m) { return isa_add_to_module(m); }\n")
    include = f"-isystem{sysconfig.get_path('include')}"
    command = [compiler, f"-std={standard}", "-Wall", "-Wextra", "-Wpedantic", "-Werror", include, *limited]
    command += ["-c", f"python.{suffix}", "-o", "/dev/null"]
    done = subprocess.run(command, cwd=sources, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_call_is_one_load_and_one_indirect_call(sources):
    """In position-independent code, as an extension has it: nothing but a jump through the stub's memory."""
    caller = (
        '#include "isa_dispatch.h"\n'
        "typedef int (*fn)(int);\n"
        "ISA_DECLARE_DISPATCH(fn, the_stub)\n"
        "int f(int x) { return the_stub(x); }\n"
    )
    for compiler, suffix in (("cc", "c"), ("c++", "cpp")):
        (sources / f"caller.{suffix}").write_text(caller)
        command = [compiler, "-O2", "-fPIC", "-fcf-protection=none", "-S", f"caller.{suffix}", "-o", "-"]
        text = subprocess.run(command, cwd=sources, capture_output=True, text=True, check=True).stdout
        body = re.findall(
            r"^\t([a-z]\S*)\t?(.*)$", text.split("f:" if suffix == "c" else "_Z1fi:")[1].split(".cfi_endproc")[0], re.M
        )
        assert body == [("jmp", "*the_stub(%rip)")]


def test_isagen_builds_itself_with_the_fragment_that_it_hands_out(new_project):
    own = (ROOT / "kernels/isagen/meson.build").read_text()
    assert is_unchanged(own.encode())
    project = new_project()
    project.isagen("init", "--name", "hello")
    assert (project.folder / "isagen/meson.build").read_text() == own
    options = (project.folder / "meson_options.txt").read_text()
    assert options == (ROOT / "meson_options.txt").read_text()


def test_the_version_is_told_once():
    assert f"version: '{isagen.__version__}'" in (ROOT / "meson.build").read_text()


def test_what_is_generated_says_that_it_is_the_project_s_own():
    for template in (
        "fragment/meson.build.j2",
        "fragment/module.meson.build.j2",
        "isa_dispatch.h.j2",
        "isa_dispatch.c.j2",
        "isa_torch.h.j2",
    ):
        assert "project's own" in (ROOT / "templates" / template).read_text()


@pytest.mark.parametrize("sanitizer", [[], ["-fsanitize=undefined"]])
@pytest.mark.parametrize("compiler", ["g++", "g++-11", "clang++-14", "clang++-16"])
def test_defining_a_stub_takes_no_initialiser(sources, compiler, sanitizer):
    """An initialiser would undo the selection, because it would run after the stubs are set."""
    need(compiler)
    (sources / "define.cpp").write_text(
        '#include "isa_dispatch.h"\ntypedef int (*fn)(int);\nnamespace deep {\n'
        "ISA_DECLARE_DISPATCH(fn, the_stub)\nISA_DEFINE_DISPATCH(the_stub)\n}\n"
    )
    command = [compiler, "-O0", "-fPIC", *sanitizer, "-S", "define.cpp", "-o", "-"]
    text = subprocess.run(command, cwd=sources, capture_output=True, text=True, check=True).stdout
    assert "isa_needs_one_ISA_DEFINE_DISPATCH_for_the_stub" in text
    assert ".init_array" not in text
