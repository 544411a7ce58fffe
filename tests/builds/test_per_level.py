"""A source for each level, as projects have that wrote their dispatch by hand: one stub, several sources."""

import re

import pytest

from support.levels import supported_levels
from support.projects import UNSEALED, matrix, need

# The level whose source each stub takes, by the level that is selected.
SOURCES = {"DEFAULT": ("c", "c"), "AVX2": ("avx2", "c"), "AVX512": ("avx2", "avx512")}


def check_results(project):
    for level in [level for level in SOURCES if level in supported_levels()]:
        found = project.run(project.path("ops"), OPS_ISA=level).stdout.split()
        scaled, summed = (f"../ops-{name}.c" for name in SOURCES[level])
        assert found == [level, "72", "1332", scaled, summed]


@pytest.mark.smoke
def test_each_stub_takes_the_best_source(prepared):
    project = prepared("per_level")
    check_results(project)
    built = {
        kernel["source"]: {n for n, c in kernel["levels"].items() if c["verdict"] == "built"}
        for kernel in matrix(project)["kernels"]
    }
    assert built == {"ops-c.c": {"DEFAULT"}, "ops-avx2.c": {"AVX2"}, "ops-avx512.c": {"AVX512"}}


def test_with_clang(prepared):
    need("clang-16")
    check_results(prepared("per_level", CC="clang-16"))


def test_unsealed(prepared):
    check_results(prepared("per_level", *UNSEALED))


def test_a_level_that_the_packager_leaves_out(prepared):
    project = prepared("per_level", "-Disa_levels=none")
    assert project.run(project.path("ops")).stdout.split() == ["DEFAULT", "72", "1332", "../ops-c.c", "../ops-c.c"]
    assert re.search(r"^ops-avx2\.c +-", project.isagen("matrix", "build").stdout, re.M)


def test_a_stub_without_a_source_at_the_lowest_level(new_project):
    project = new_project("per_level")
    project.edit("isagen/isa.toml", 'total = "total_c", ', "")
    project.setup("-Disa_levels=AVX512")
    assert (
        "isagen: error: total: ops-avx512.c registers it at AVX512, but no kernel does at DEFAULT\n"
        "  register one at DEFAULT too, for CPUs without any higher level; if isa.toml gives the source levels, they may "
        "have to name DEFAULT\n"
    ) in project.ninja(check=False)
