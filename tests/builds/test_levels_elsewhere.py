"""Power, riscv64 and s390x: levels are built and sealed, the CPU's is selected under qemu, the matrix is readable."""

from dataclasses import dataclass

import pytest

from support.projects import make_project, need, verdicts


@dataclass(frozen=True)
class Target:
    """A target of cross builds: its names, and the level that each CPU of qemu selects."""

    triplet: str
    family: str
    endian: str
    emulator: str
    selected: dict[str, str]


# qemu 7.2 reports no more vector instructions of s390x than those of z14, and counts `vxeh` as these.
TARGETS = {
    target.family: target
    for target in (
        Target(
            "powerpc64le-linux-gnu",
            "ppc64",
            "little",
            "qemu-ppc64le",
            {"power8": "DEFAULT", "power9": "POWER9", "power10": "POWER10"},
        ),
        Target(
            "riscv64-linux-gnu",
            "riscv64",
            "little",
            "qemu-riscv64",
            {"rv64": "DEFAULT", **{f"rv64,v=true,vext_spec=v1.0,vlen={size}": "V" for size in (128, 256, 512)}},
        ),
        Target(
            "s390x-linux-gnu",
            "s390x",
            "big",
            "qemu-s390x",
            {"max,vx=off,vxeh=off": "DEFAULT", "max,vxeh=off": "VX", "max": "VXE"},
        ),
    )
}
CPUS = [(family, cpu, level) for family, target in TARGETS.items() for cpu, level in target.selected.items()]


def built(folder, compiler, target, *options, package="portable"):
    """The project, cross-compiled with warnings as errors."""
    c, cpp = [f"{target.triplet}-gcc"], [f"{target.triplet}-g++"]
    if compiler != "gcc":
        c, cpp = ([one, f"--target={target.triplet}"] for one in (compiler, compiler.replace("clang", "clang++")))
    need(c[0], cpp[0], f"{target.triplet}-g++", target.emulator)
    project = make_project(folder, package)
    (folder / "cross.ini").write_text(
        f"[binaries]\nc = {c}\ncpp = {cpp}\nar = '{target.triplet}-ar'\nstrip = '{target.triplet}-strip'\n"
        f"[host_machine]\nsystem = 'linux'\ncpu_family = '{target.family}'\ncpu = '{target.family}'\n"
        f"endian = '{target.endian}'\n"
    )
    options = ("-Doptimization=3", "-Dwerror=true", *options)
    project.last = project.setup("--cross-file", str(folder / "cross.ini"), *options)
    project.ninja()
    return project


def ran(project, target, cpu, program="portable", **environment):
    """What the program says on a CPU of qemu."""
    emulator = (target.emulator, "-cpu", cpu, "-L", f"/usr/{target.triplet}")
    return project.run(*emulator, project.path(program), check=False, **environment).stdout


@pytest.fixture(scope="module", params=["gcc", "clang-16"])
def portable(request, tmp_path_factory):
    """Builds the portable project for a target, once."""
    projects = {}

    def project_for(family):
        if family not in projects:
            folder = tmp_path_factory.mktemp(f"{family}-{request.param}")
            projects[family] = built(folder, request.param, TARGETS[family])
        return projects[family]

    return project_for


@pytest.mark.parametrize("family", TARGETS)
def test_every_level_is_built_and_sealed(portable, family):
    project = portable(family)
    assert set(verdicts(project).values()) == {"built"}
    assert "not when linked: only code for x86-64 and arm64 is decoded" in project.last
    assert "2 kernels x " in project.isagen("matrix", project.path("portable")).stdout


@pytest.mark.parametrize(("family", "cpu", "level"), CPUS)
def test_the_right_level_runs(portable, family, cpu, level):
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
