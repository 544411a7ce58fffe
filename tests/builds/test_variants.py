"""A plugin that was built whole for each level, as one kernel: a stub returns the table through which hosts call it."""

import json

import pytest

from support.projects import make_project, need

LEVELS = ["X86_64", "X86_64_V2", "X86_64_V3", "X86_64_V4"]


@pytest.fixture(scope="module")
def variants(tmp_path_factory):
    project = make_project(tmp_path_factory.mktemp("variants"), "variants")
    project.setup()
    project.ninja()
    return project


def run(project, *emulator, **environment):
    return project.run(*emulator, project.path("host"), project.path("blur.so"), **environment).stdout.split()[-3:]


def test_each_level_is_whole(variants):
    variants.isagen("audit", variants.build)  # exit status 0: nothing is found
    best = run(variants)[1]
    for level in LEVELS[: LEVELS.index(best) + 1]:
        assert run(variants, VARIANTS_ISA=level) == ["blur", level, "2080"]


@pytest.mark.parametrize(
    ("cpu", "level"), [("core2duo", "X86_64"), ("Nehalem", "X86_64_V2"), ("Haswell-v4", "X86_64_V3")]
)
def test_other_cpus(variants, cpu, level):
    need("qemu-x86_64")
    assert run(variants, "qemu-x86_64", "-cpu", cpu) == ["blur", level, "2080"]


def test_the_plugin_is_one_file_with_each_level_s_code(variants):
    (kernel,) = json.loads(variants.isagen("matrix", variants.build, "--format", "json").stdout)["kernels"]
    assert [cell["verdict"] for cell in kernel["levels"].values()] == ["built"] * 4
    widest = [cell["code"]["widest"] for cell in kernel["levels"].values()]
    assert widest[0] == 128 < widest[-1]


@pytest.mark.parametrize("compiler", ["clang-16", "gcc-11"])
def test_other_compilers(new_project, compiler):
    need(compiler)
    project = new_project("variants")
    project.setup(CC=compiler)
    project.ninja()
    assert run(project)[::2] == ["blur", "2080"]
