"""Windows' Python under wine: it imports an extension module, and runs Meson, ninja and isagen themselves."""

import pytest

from support.extensions import FAST
from support.levels import level_that_runs, supported_levels
from support.platforms import WINDOWS
from support.prepared import FEW
from support.projects import Project, make_project
from support.windows_python import WindowsPython, headers, windows_python

NATIVE = """\
[binaries]
c = 'gcc.exe'
cpp = 'g++.exe'
ar = 'ar.exe'
[built-in options]
c_link_args = ['-static']
cpp_link_args = ['-static']
"""
# Those of FEW that this CPU has.
LEVELS = [level for level in ("DEFAULT", "AVX2", "AVX512") if level in supported_levels()]
CODE = "import fast; print(fast.dot, fast.isa.current)"


@pytest.fixture(scope="module")
def windows(tmp_path_factory) -> WindowsPython:
    return windows_python(tmp_path_factory.mktemp("windows"))


@pytest.fixture(scope="module")
def extension(windows, tmp_path_factory) -> Project:
    """An extension module of MinGW's GCC."""
    folder = tmp_path_factory.mktemp("extension")
    project = make_project(folder, "portable")
    (project.folder / "fast.c").write_text(FAST)
    library = "shared_library('fast', 'fast.c', 'early.cpp', name_prefix: '', name_suffix: 'pyd',"
    arguments = f"c_args: '-I{headers(folder)}', link_args: '{windows.dll}',"
    project.edit("meson.build", "executable('portable', 'main.cpp', 'early.cpp',", f"{library} {arguments}")
    static = [f"-D{language}_link_args=-static" for language in ("c", "cpp")]
    project.setup("--cross-file", str(WINDOWS["mingw"].cross_file(folder)), *static, FEW)
    project.ninja()
    return project


def test_an_extension_module_at_each_level(windows, extension):
    for asked in LEVELS:
        said = windows.python("-c", CODE, where=extension.path(""), PORTABLE_ISA=asked)
        assert said == f"14 {level_that_runs(LEVELS, asked)}\n"


def test_names_of_variables_in_any_case(windows, extension):
    assert windows.python("-c", CODE, where=extension.path(""), portable_isa="default") == "14 DEFAULT\n"


def test_an_override_that_python_sets(windows, extension):
    """MinGW's library of C has its own copy of the environment, which os.environ does not change."""
    code = f"import os; os.environ['PORTABLE_ISA'] = 'DEFAULT'; {CODE}"
    assert windows.python("-c", code, where=extension.path("")) == "14 DEFAULT\n"


@pytest.mark.parametrize(("value", "shown"), [("AVX3", "AVX3"), ("\u00e4\u20ac", "??")])
def test_a_warning_is_python_s(windows, extension, value, shown):
    code = f"import os; os.environ['PORTABLE_ISA'] = {value!a}; {CODE}"
    said = windows.python("-c", code, where=extension.path(""))
    assert f"RuntimeWarning: PORTABLE_ISA={shown} is not a level, and is ignored; levels: DEFAULT AVX2" in said
    failed = windows.python("-W", "error", "-c", code, where=extension.path(""), check=False)
    assert "RuntimeWarning: PORTABLE_ISA=" in failed.splitlines()[-1]


def test_isagen_itself_runs_under_windows(windows, tmp_path):
    """Meson, ninja and isagen are programs of Windows, in a folder with a space; the compilers are called as such."""
    windows.compilers()
    project = make_project(tmp_path, "portable", folder="a project")
    where = project.folder
    (where / "native.ini").write_text(NATIVE)
    options = ["--native-file", "native.ini", "-Doptimization=3", FEW]
    summary = windows.python("-m", "mesonbuild.mesonmain", "setup", "build", *options, where=where)
    assert "AVX512      : 2 of 2 kernels" in summary
    assert "sealed      : yes" in summary
    windows.run("ninja.exe", "-C", "build", where=where)
    for level in LEVELS:
        assert f"in use: {level}, " in windows.run("build/portable.exe", where=where, PORTABLE_ISA=level)
    assert "nothing found" in windows.python("-m", "isagen", "audit", "build", where=where)
    assert "sealed: yes" in windows.python("-m", "isagen", "matrix", "build", where=where)
    assert "nothing" in windows.python("-m", "isagen", "diff", "build", "build/portable.exe", where=where)
    project.edit("kernels/scale.c", "a[i] *= factor", "a[i] = factor * a[i]")
    steps = windows.run("ninja.exe", "-C", "build", where=where)
    assert steps.count("Compiling C object isagen/") == 3
    assert "no work to do" in windows.run("ninja.exe", "-C", "build", where=where)
