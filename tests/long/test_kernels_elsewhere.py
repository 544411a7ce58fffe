"""The reference kernels on each CPU of qemu, at every level that it has, against plain loops, within x86's bounds."""

import re
import shutil
from functools import cache

import pytest

from isagen.processors.table import load_table
from support.checkout import ROOT
from support.cross import TARGETS
from support.pairs import paired
from support.projects import make_project
from support.what_ran import KERNELS

MESON = """
project('reference', 'c', 'cpp', meson_version: '>=1.0.1', default_options: ['cpp_std=c++17', 'warning_level=3'])
subdir('kernels')
executable('check', 'kernels.cpp', dependencies: isa_kernels_dep)
"""
# GCC 12 finds no use for the vectors of riscv64.
CPUS = [
    (family, compiler, cpu)
    for family, compiler in paired([one for one in TARGETS if "gcc" in TARGETS[one].compilers], ["clang-16", "gcc"])
    for cpu in TARGETS[family].selected
]


def reference(folder, *options):
    """The kernels, each at every level, whichever levels their own isa.toml names, and a program that checks them."""
    project = make_project(folder)
    project.folder.mkdir(exist_ok=True)
    shutil.copytree(ROOT / "kernels", project.folder / "kernels")
    shutil.copy(ROOT / "meson_options.txt", project.folder)
    shutil.copy(ROOT / "tests/cpp/kernels.cpp", project.folder)
    (project.folder / "meson.build").write_text(MESON)
    settings = project.folder / "kernels/isagen/isa.toml"
    settings.write_text(settings.read_text().partition("\n[kernels")[0])
    project.setup("-Doptimization=2", "-Dwerror=true", *options)
    project.ninja()
    return project


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Builds the kernels for a target with a compiler, once."""

    @cache
    def project_for(family, compiler):
        target = TARGETS[family]
        target.require(compiler)
        folder = tmp_path_factory.mktemp(f"{family}-{compiler}")
        return reference(folder, "--cross-file", str(target.cross_file(folder, compiler)))

    return project_for


@pytest.mark.parametrize(("family", "compiler", "cpu"), CPUS)
def test_every_level_agrees(built, cell, family, compiler, cpu):
    target = TARGETS[family]
    selected, *levels = target.run(built(family, compiler), cpu, "check").splitlines()
    assert selected == f"selected {target.selected[cpu]}"
    said = dict(re.fullmatch(r"(\S+) (.*)", line).groups() for line in levels)
    assert tuple(said) == load_table(target.table, ROOT).names()
    for level, one in said.items():
        cell(KERNELS.format(family), cpu, level, "the CPU lacks it" if one == "lacks" else compiler)
    assert said[target.selected[cpu]] != "lacks"
    assert {one for level, one in said.items() if one != f"agrees, {level}"} <= {"lacks"}
