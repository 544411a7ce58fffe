"""Mistakes with whole modules: each is one error, which names the remedy."""

import re

import pytest

from support.projects import matrix


def test_a_cython_source_without_module_is_one_error(new_project):
    project = new_project("raw_modules")
    (project.folder / "odd.pyx").write_text("def odd(): pass\n")
    project.edit("meson.build", "{'module': 'single', 'kernels': files('single.c')}", "{'kernels': files('odd.pyx')}")
    said = project.setup("-Disa_levels=none", check=False)
    assert "isa_kernels: odd.pyx: is Cython" in said
    assert "dispatch the module as a whole: isa_module = 'NAME'" in said


def test_a_cython_module_without_cython_is_one_error(new_project):
    project = new_project("raw_modules")
    (project.folder / "single.pyx").write_text("def odd(): pass\n")
    (project.folder / "none.ini").write_text("[binaries]\ncython = ['/nonexistent/cython']\n")
    project.edit("meson.build", "files('single.c')", "files('single.pyx')")
    said = project.setup("--native-file=none.ini", check=False)
    assert 'single.pyx: Cython is not installed: add "cython>=3" to build-system.requires' in said


@pytest.mark.parametrize(
    ("old", "new", "message", "remedy"),
    [
        ("'single', 'k", "'sing le', 'k", "'sing le' cannot name an extension module", "use letters, digits and _"),
        ("files('single.c')", "[]", "the module single has no source", "name its sources with files()"),
        ("'single', 'k", "'phased', 'k", 'Tried to create target "phased', "but a target of that name already exists"),
    ],
)
def test_mistakes_are_errors_when_configuring(new_project, old, new, message, remedy):
    project = new_project("raw_modules")
    project.edit("meson.build", old, new)
    said = project.setup("-Disa_levels=AVX2", check=False)
    assert message in said
    assert remedy in said


def test_mistakes_are_errors_when_building(new_project):
    project = new_project("raw_modules")
    project.edit("meson.build", "'module': 'single'", "'module': 'singles'")
    with (project.folder / "phased.c").open("a") as stream:
        stream.write("ISA_DECLARE_DISPATCH(PyCFunction, odd_stub)\nISA_REGISTER_DISPATCH(odd_stub, &level)\n")
    project.setup("-Disa_levels=none")
    said = project.ninja(check=False)
    assert "isa_module = 'singles': no source of the module defines PyInit_singles; they define PyInit_single" in said
    assert "odd_stub: phased.c registers a kernel for it, but is a source of the module phased" in said


def test_a_module_has_each_level_whole(new_project):
    project = new_project("pybind_module")
    (project.folder / "isagen/isa.toml").write_text('[kernels."bins.cpp"]\nlevels = ["AVX2"]\n')
    assert (
        "isagen: isa.toml: kernels.'bins.cpp'.levels: a module is built as a whole, but its source bins.cpp is not "
        "built at DEFAULT\n  name DEFAULT among its levels"
    ) in project.setup(check=False)
    (project.folder / "isagen/isa.toml").write_text('[kernels."bins.cpp"]\nlevels = ["DEFAULT", "AVX2"]\n')
    said = project.setup()
    assert re.search(r"disabled +: .*AVX512.* (its module is not built without bins.cpp: )?by isa.toml", said)
    cells = {k["source"]: {n: c["verdict"] for n, c in k["levels"].items()} for k in matrix(project)["kernels"]}
    assert cells["bins.cpp"] == cells["histograms.cpp"]


@pytest.mark.parametrize("name", ["raw_modules", "pybind_module"])
def test_doctor_wants_no_target_for_a_whole_module(new_project, name):
    said = new_project(name).isagen("doctor", check=False).stdout
    assert "the kernels are a whole module, which the fragment links" in said
    assert "no target takes" not in said
