"""Shapes of projects: libraries of both kinds, headers alone, subprojects with kernels of their own, dlopen."""

import shutil
import subprocess
import sys

import pytest

from support.checkout import ROOT
from support.levels import level_that_runs, supported_levels
from support.projects import make_project

OTHER_VERSION = "0.0.7"


@pytest.fixture(scope="module")
def shapes(tmp_path_factory):
    """The package, whose subproject is built by another version of isagen."""
    folder = tmp_path_factory.mktemp("shapes")
    other = folder / "other isagen"
    shutil.copytree(ROOT / "isagen", other / "isagen", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "templates", other / "templates")
    version = other / "isagen/__init__.py"
    text = version.read_text()
    assert '__version__ = "' in text
    version.write_text(text.partition('__version__ = "')[0] + f'__version__ = "{OTHER_VERSION}"\n')
    project = make_project(folder, "shapes")
    subprocess.run(
        [sys.executable, other / "isagen/__main__.py", "init", project.folder / "subprojects/inner"], check=True
    )
    command = f"isa_command = [import('python').find_installation(), '{other / 'isagen/__main__.py'}']\n"
    project.edit("subprojects/inner/meson.build", "isa_kernels = ", f"{command}isa_kernels = ")
    project.setup()
    project.ninja()
    return project


@pytest.fixture(scope="module")
def best():
    """The level that each of the two projects selects."""
    supported = supported_levels()
    avx2 = level_that_runs(supported, "AVX2")
    return {"outer": avx2, "inner": "AVX512" if "AVX512" in supported else avx2}


def said(project, name, *arguments, **environment):
    return project.run(project.path(name), *arguments, **environment).stdout.splitlines()


@pytest.mark.parametrize(("program", "calls"), [("two", 2), ("shared", 1), ("static", 1), ("headers", 1)])
def test_libraries(shapes, best, program, calls):
    assert said(shapes, program) == [f"outer {best['outer']}"] * calls
    assert said(shapes, program, OUTER_ISA="default") == ["outer DEFAULT"] * calls


def test_a_subproject_has_kernels_and_an_override_of_its_own(shapes, best):
    assert said(shapes, "outer") == [f"outer {best['outer']}", f"inner {best['inner']}"]
    assert said(shapes, "outer", INNER_ISA="default") == [f"outer {best['outer']}", "inner DEFAULT"]


def test_a_subproject_may_use_another_version(shapes):
    text = shapes.isagen("matrix", "build").stdout
    assert text.count(f"built by: isagen {OTHER_VERSION}\n") == 1
    assert text.count("built by: isagen ") == 2


@pytest.mark.parametrize("order", [("outer", "inner"), ("inner", "outer")], ids=" first, then ".join)
def test_global_modules_run_each_its_own_code(shapes, best, order):
    """Kernels and stubs have the same names in both modules, which are opened with RTLD_GLOBAL."""
    modules = {"outer": shapes.path("plugin.so"), "inner": shapes.path("subprojects/inner/plugin_of_inner.so")}
    assert said(shapes, "host", *(modules[name] for name in order)) == [f"{name} {best[name]}" for name in order]


@pytest.mark.parametrize("library", ["libfirst.so", "subprojects/inner/libinner.so"])
def test_sealed_code_is_not_exported(shapes, library):
    exported = subprocess.run(
        ["nm", "-DC", "--defined-only", shapes.path(library)], capture_output=True, text=True, check=True
    ).stdout
    assert "kept" not in exported
    assert "isa_" not in exported


def test_pkg_config_files_do_not_contain_the_build_folder(shapes):
    text = shapes.path("meson-private/both.pc").read_text()
    assert "-lboth" in text
    assert str(shapes.folder) not in text


def test_the_audit_finds_nothing(shapes):
    assert shapes.isagen("audit", "build").returncode == 0
