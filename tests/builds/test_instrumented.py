"""Builds whose compiler adds code and data of its own: profiles, coverage, XRay, checks of the C++ library."""

import subprocess
import sys

import pytest

from support.compiling import need_runtime
from support.levels import level_that_runs, supported_levels
from support.projects import make_project, need, script

MESON = """\
project('whole', 'cpp', meson_version: '>=1.0.1', default_options: ['cpp_std=c++17', 'optimization=1', 'debug=false'])
isa_kernels = files('one.cpp', 'two.cpp')
subdir('isagen')
py = import('python').find_installation(pure: false)
archive = static_library('archive', 'run.cpp', dependencies: isa_kernels_dep)
run = archive.extract_objects('run.cpp')
executable('static', 'main.cpp', link_with: archive)
executable('shared', 'main.cpp', link_with: shared_library('library', objects: run, dependencies: isa_kernels_dep))
py.extension_module('module', 'module.cpp', objects: run, dependencies: [isa_kernels_dep, py.dependency()])
"""
# Functions, a vtable and a variable that are weak, also in ordinary code.
HEADER = """\
#pragma once
#include "isa_dispatch.h"
#include <algorithm>
#include <functional>
#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>
template <class T> T total(const std::vector<T> &a) {
  T sum = 0;
  for (T one : a)
    sum += one > 1000 ? throw std::runtime_error("too large") : one * one;
  return sum;
}
inline int middle(std::vector<int> a) {
  std::sort(a.begin(), a.end(), std::less<int>());
  return a.at(a.size() / 2);
}
struct base { virtual ~base() = default; virtual int add(int x) const = 0; };
template <int N> struct derived : base { int add(int x) const override { return x + N; } };
inline int calls() { static int number; return ++number; }
typedef int (*fn)(const std::vector<int> &, const base &);
ISA_DECLARE_DISPATCH(fn, one_stub)
ISA_DECLARE_DISPATCH(fn, two_stub)
"""
KERNEL = """\
#include "whole.h"
namespace {{ int f(const std::vector<int> &a, const base &b) {{
  const base *volatile own = new derived<{0}>;
  const int sum = own->add(b.add(total(a) + middle(a))) + (int)std::to_string(a[0]).size() * calls();
  delete own;
  if (sum < 0)
    std::cerr << "negative" << std::endl;
  return sum;
}} }}
ISA_REGISTER_DISPATCH({1}_stub, &f)
"""
FILES = {
    "meson.build": MESON,
    "whole.h": HEADER,
    "one.cpp": KERNEL.format(1, "one"),
    "two.cpp": KERNEL.format(2, "two"),
    "main.cpp": '#include <cstdio>\nint run();\nint main() { std::printf("%d\\n", run()); }\n',
    "run.cpp": """\
#include "whole.h"
ISA_DEFINE_DISPATCH(one_stub)
ISA_DEFINE_DISPATCH(two_stub)
__attribute__((visibility("default"))) int run();
int run() {
  const std::vector<int> a{4, 3, 2, 1};
  const int first = one_stub(a, derived<5>());
  return total(a) + middle(a) + first * 100 + two_stub(a, derived<6>()) * 10000;
}
""",
    "module.cpp": """\
#include <Python.h>
int run();
static PyObject *call(PyObject *, PyObject *) { return PyLong_FromLong(run()); }
static PyMethodDef methods[] = {{"run", call, METH_NOARGS, nullptr}, {}};
static PyModuleDef module = {PyModuleDef_HEAD_INIT, "module", nullptr, -1, methods, {}, {}, {}, {}};
PyMODINIT_FUNC PyInit_module() { return PyModule_Create(&module); }
""",
}
CLANG = "clang++-16"
# One above the baseline: what a compiler adds, it adds to each.
LEVEL = "-Disa_levels=AVX2"
ANSWER = "434033"
XRAY = ["-Dcpp_args=-fxray-instrument -fxray-instruction-threshold=1", "-Dcpp_link_args=-fxray-instrument"]
# What a compiler gets by options, where it then links a library of its own.
FLAGS = {
    "-Db_pgo=generate": ["-fprofile-generate"],
    "-Db_coverage=true": ["--coverage"],
    "-Db_sanitize=address": ["-fsanitize=address"],
    XRAY[0]: ["-fxray-instrument"],
}
LIBCPP = ["-Dcpp_args=-stdlib=libc++ -D_LIBCPP_ENABLE_ASSERTIONS=1", "-Dcpp_link_args=-stdlib=libc++"]


def whole(folder):
    """A project with kernels in a static library, a shared one and an extension."""
    project = make_project(folder)
    for name, text in FILES.items():
        (project.folder / name).write_text(text)
    project.isagen("init")
    return project


def thrower(folder):
    """A project whose kernel throws an exception of its own, and calls functions in a table."""
    project = make_project(folder, "portable")
    project.edit(
        "kernels/dot.cpp",
        "namespace {\n",
        "#include <stdexcept>\nnamespace {\n"
        "struct failure : std::logic_error { using std::logic_error::logic_error; };\n"
        'float fail(float) { throw failure(""); }\nfloat twice(float x) { return 2 * x; }\n',
    )
    project.edit(
        "kernels/dot.cpp",
        "  long sum = 0;\n",
        "  static constexpr float (*calls[])(float) = {fail, twice};\n  calls[size >= 0](1);\n  long sum = 0;\n",
    )
    project.isagen("init")
    return project


@pytest.mark.parametrize("options", [XRAY, LIBCPP], ids=["XRay", "hardened libc++"])
def test_builds_of_clang(prepared, options):
    need_runtime(CLANG, *FLAGS.get(options[0], ()))
    if options is LIBCPP:
        include = ["-stdlib=libc++", "-include", "vector", "-E", "-x", "c++", "/dev/null"]
        if subprocess.run([CLANG, *include], capture_output=True, check=False).returncode != 0:
            pytest.skip("libc++ is not installed")
    check(prepared(whole, LEVEL, *options, CXX=CLANG))


@pytest.mark.parametrize("option", ["-Db_coverage=true", "-Dcpp_debugstl=true"])
def test_builds_of_gcc(prepared, option):
    check(prepared(whole, LEVEL, option, CXX="g++"))


@pytest.mark.parametrize(
    ("compiler", "options"),
    [
        ("g++", ["-Db_sanitize=address"]),
        (CLANG, ["-Db_sanitize=address", "-Db_lundef=false"]),
        (CLANG, ["-Db_coverage=true"]),
    ],
    ids=["GCC's address sanitizer", "Clang's address sanitizer", "Clang's coverage"],
)
def test_programs(prepared, compiler, options):
    """A module that is instrumented in this way cannot be loaded by a Python that is not."""
    need_runtime(compiler, *FLAGS[options[0]])
    project = prepared(whole, LEVEL, *options, CXX=compiler)
    for program in ("static", "shared"):
        assert project.run(project.path(program)).stdout == f"{ANSWER}\n"
    assert project.isagen("audit", "build").returncode == 0


def test_classes_of_kernels_that_the_address_sanitizer_registers(prepared):
    """Clang's initialiser names every variable of the file: type information, and tables of the level's functions."""
    need_runtime(CLANG, "-fsanitize=address,undefined")
    options = ["-Db_sanitize=address,undefined", "-Db_lundef=false", "-Doptimization=0"]
    project = prepared(thrower, LEVEL, *options, CXX=CLANG)
    assert project.run(project.path("portable")).returncode == 0


def test_a_profile_of_gcc_is_used(prepared):
    project = prepared(whole, LEVEL, "-Db_pgo=generate", CXX="g++")
    check(project)
    project.run("meson", "configure", "build", "-Db_pgo=use")
    project.run("meson", "compile", "-C", "build")
    check(project)


def check(project):
    """The programs and the module of a project give the answer, and the audit finds nothing."""
    project.environment["LLVM_PROFILE_FILE"] = str(project.folder / "profile.raw")
    for program in ("static", "shared"):
        assert project.run(project.path(program)).stdout == f"{ANSWER}\n"
    done = project.run(
        sys.executable, "-c", script(["import sys", "sys.path[0] = 'build'", "import module", "print(module.run())"])
    )
    assert done.stdout == f"{ANSWER}\n"
    assert project.isagen("audit", "build").returncode == 0


def test_a_profile_counts_the_calls_of_all_levels(prepared):
    """Each level has counters of its own, of which tools make one sum."""
    need_runtime(CLANG, *FLAGS["-Db_pgo=generate"])
    need("llvm-profdata-16")
    project = prepared(whole, LEVEL, "-Db_pgo=generate", CXX=CLANG)
    check(project)
    for level in ("DEFAULT", "AVX2"):
        raw = {"WHOLE_ISA": level, "LLVM_PROFILE_FILE": f"{level}.raw"}
        project.run(project.path("static"), **raw)
    project.run("llvm-profdata-16", "merge", "-o", "sum", "DEFAULT.raw", "AVX2.raw")
    said = project.run(
        "llvm-profdata-16", "show", "--counts", "--function=_Z5totalIiET_RKSt6vectorIS0_SaIS0_EE", "sum"
    ).stdout
    assert "Block counts: [24, " in said
    ran = level_that_runs(supported_levels(), "AVX2")
    names = project.run("llvm-profdata-16", "show", "--counts", "--function=one.cpp", "sum").stdout
    assert f"one.cpp.{ran}.cpp" in names
