"""Power, riscv64 and s390x: levels are built and sealed, the CPU's is selected under qemu, the matrix is readable."""

import pytest

from support.cross import TARGETS as ALL_TARGETS
from support.projects import make_project, verdicts
from support.what_ran import SELECTION

TARGETS = {family: target for family, target in ALL_TARGETS.items() if family != "aarch64"}
CPUS = [(family, cpu, level) for family, target in TARGETS.items() for cpu, level in target.selected.items()]


def built(folder, compiler, target, *options, package="portable"):
    """The project, cross-compiled with warnings as errors."""
    target.require(compiler)
    project = make_project(folder, package)
    options = ("-Doptimization=3", "-Dwerror=true", *options)
    project.last = project.setup("--cross-file", str(target.cross_file(folder, compiler)), *options)
    project.ninja()
    return project


def ran(project, target, cpu, program="portable", **environment):
    """What the program says on a CPU of qemu."""
    return target.run(project, cpu, program, **environment)


@pytest.fixture(scope="module", params=["gcc", "clang-16"])
def portable(request, tmp_path_factory):
    """Builds the portable project for a target, once."""
    projects = {}

    def project_for(family):
        if family not in projects:
            folder = tmp_path_factory.mktemp(f"{family}-{request.param}")
            projects[family] = built(folder, request.param, TARGETS[family])
        return projects[family]

    project_for.compiler = request.param
    return project_for


@pytest.mark.parametrize("family", TARGETS)
def test_every_level_is_built_and_sealed(portable, family):
    project = portable(family)
    assert set(verdicts(project).values()) == {"built"}
    assert "not when linked: only code for x86-64 and arm64 is decoded" in project.last
    assert "2 kernels x " in project.isagen("matrix", project.path("portable")).stdout


@pytest.mark.parametrize(("family", "cpu", "level"), CPUS)
def test_the_right_level_runs(portable, cell, family, cpu, level):
    cell(SELECTION, f"{family}: {cpu}", portable.compiler, level)
    project = portable(family)
    assert f"14 200 30 {level}, in use: {level}, built: " in ran(project, TARGETS[family], cpu)
    assert "14 200 30 DEFAULT, " in ran(project, TARGETS[family], cpu, PORTABLE_ISA="default")


@pytest.mark.parametrize("compiler", ["gcc", "clang-16"])
@pytest.mark.parametrize("family", TARGETS)
def test_levels_share_no_code(tmp_path, family, compiler):
    target = TARGETS[family]
    project = built(tmp_path, compiler, target, package="leak")
    assert {ran(project, target, cpu, "leak") for cpu in target.selected} == {"128 128 41 2 3 128 3\n"}


@pytest.mark.parametrize("compiler", ["gcc", "clang-16"])
def test_a_power_cpu_without_the_baseline_gets_a_message(tmp_path, compiler):
    """What runs before the check of the CPU uses nothing of the baseline's features."""
    arg, target = "-mcpu=power10", TARGETS["ppc64"]
    project = built(tmp_path, compiler, target, f"-Dc_args={arg}", f"-Dcpp_args={arg}")
    for cpu in ("power8", "power9"):
        assert "is compiled for features that CPU or OS lack: " in ran(project, target, cpu)
    assert "14 200 30 " in ran(project, target, "power10")
