"""Power, riscv64, s390x, loongarch64: levels are built and sealed, the CPU's is selected, the matrix is readable."""

import re

import pytest

from support.cross import TARGETS as ALL_TARGETS
from support.pairs import paired
from support.projects import make_project, verdicts
from support.what_ran import SELECTION

TARGETS = {family: target for family, target in ALL_TARGETS.items() if family != "aarch64"}
HWPROBE = """
#include <cstdarg>
extern "C" long syscall(long number, ...) noexcept
{
  va_list words;
  va_start(words, number);
  long long *pair = va_arg(words, long long *);
  va_end(words);
  return %s;
}
int main()"""
AUDITED = dict.fromkeys(("riscv64", "s390x"), "when linked")
BUILDS = [(family, compiler) for family, target in TARGETS.items() for compiler in target.compilers]
CPUS = [(*build, cpu, level) for build in BUILDS for cpu, level in TARGETS[build[0]].selected.items()]


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


@pytest.fixture(scope="module")
def portable(tmp_path_factory):
    """Builds the portable project for a target with a compiler, once."""
    projects = {}

    def project_for(family, compiler):
        if (family, compiler) not in projects:
            folder = tmp_path_factory.mktemp(f"{family}-{compiler}")
            projects[family, compiler] = built(folder, compiler, TARGETS[family])
        return projects[family, compiler]

    return project_for


@pytest.mark.parametrize(("family", "compiler"), BUILDS)
def test_every_level_is_built_and_sealed(portable, family, compiler):
    project = portable(family, compiler)
    found = verdicts(project)
    assert {level for level, verdict in found.items() if verdict != "built"} <= TARGETS[family].newer
    assert re.search(
        rf"sealed +: yes\n +audited +: {AUDITED.get(family, 'not when linked: only code for ')}", project.last
    )
    assert "2 kernels x " in project.isagen("matrix", project.path("portable")).stdout


@pytest.mark.parametrize(("family", "compiler", "cpu", "level"), CPUS)
def test_the_right_level_runs(portable, cell, family, compiler, cpu, level):
    cell(SELECTION, f"{family}: {cpu}", compiler, level)
    project = portable(family, compiler)
    assert f"14 200 30 {level}, in use: {level}, built: " in ran(project, TARGETS[family], cpu)
    assert "14 200 30 DEFAULT, " in ran(project, TARGETS[family], cpu, PORTABLE_ISA="default")


# The headers of C++ that the leaking kernel includes need zig's libc++, which takes minutes to build.
@pytest.mark.parametrize(
    ("family", "compiler"), paired([one for one in TARGETS if "gcc" in TARGETS[one].compilers], ["gcc", "clang-16"])
)
def test_levels_share_no_code(tmp_path, family, compiler):
    target = TARGETS[family]
    project = built(tmp_path, compiler, target, package="leak")
    assert {ran(project, target, cpu, "leak") for cpu in target.selected} == {"128 128 41 2 3 128 3\n"}


@pytest.mark.parametrize(
    ("answer", "cpu", "level"),
    [
        ("pair[0] == 4 ? pair[1] = 3 << 3, 0 : -1", "rv64,zba=true,zbb=true", "ZBB"),
        ("pair[1] = 1 << 3, 0", "rv64,zba=true", "DEFAULT"),
        ("pair[1] = 1 << 2, 0", "rv64,v=true,vext_spec=v1.0", "V"),
        ("pair[0] = -1, pair[1] = 3 << 3, 0", "rv64", "DEFAULT"),
        ("pair[1] = 3 << 3, -1", "rv64", "DEFAULT"),
    ],
)
def test_what_linux_reports_of_riscv64_selects_the_level(tmp_path, portable, answer, cpu, level):
    """qemu 7.2 has no riscv_hwprobe: the program's own `syscall` answers."""
    project = portable("riscv64", "gcc")
    project.edit("main.cpp", "int main()", HWPROBE % answer)
    try:
        project.ninja()
        assert f"14 200 30 {level}, in use: {level}, " in ran(project, TARGETS["riscv64"], cpu)
    finally:
        project.edit("main.cpp", HWPROBE % answer, "int main()")


@pytest.mark.parametrize("compiler", ["gcc", "clang-16"])
def test_a_power_cpu_without_the_baseline_gets_a_message(tmp_path, compiler):
    """What runs before the check of the CPU uses nothing of the baseline's features."""
    arg, target = "-mcpu=power10", TARGETS["ppc64"]
    project = built(tmp_path, compiler, target, f"-Dc_args={arg}", f"-Dcpp_args={arg}")
    for cpu in ("power8", "power9"):
        assert "is compiled for features that CPU or OS lack: " in ran(project, target, cpu)
    assert "14 200 30 " in ran(project, target, "power10")
