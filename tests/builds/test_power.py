"""Power: levels built and run under qemu on each CPU, and a baseline that a CPU lacks."""

import pytest

from support.projects import make_project, need, verdicts

TARGET = "--target=powerpc64le-linux-gnu"
COMPILERS = {
    "gcc": (["powerpc64le-linux-gnu-gcc"], ["powerpc64le-linux-gnu-g++"]),
    "clang-16": (["clang-16", TARGET], ["clang++-16", TARGET]),
}
SELECTED = {"power8": "DEFAULT", "power9": "POWER9", "power10": "POWER10"}


def built(folder, compiler, *options, package="portable"):
    """The project, cross-compiled with warnings as errors."""
    c, cpp = COMPILERS[compiler]
    need(c[0], cpp[0], "powerpc64le-linux-gnu-ar", "qemu-ppc64le")
    project = make_project(folder, package)
    (folder / "cross.ini").write_text(
        f"[binaries]\nc = {c}\ncpp = {cpp}\nar = 'powerpc64le-linux-gnu-ar'\nstrip = 'powerpc64le-linux-gnu-strip'\n"
        "[host_machine]\nsystem = 'linux'\ncpu_family = 'ppc64'\ncpu = 'ppc64le'\nendian = 'little'\n"
    )
    project.last = project.setup("--cross-file", str(folder / "cross.ini"), "-Dwerror=true", *options)
    project.ninja()
    return project


def ran(project, cpu, program="portable", **environment):
    """What the program says on a CPU of qemu."""
    emulator = ("qemu-ppc64le", "-cpu", cpu, "-L", "/usr/powerpc64le-linux-gnu")
    return project.run(*emulator, project.path(program), check=False, **environment).stdout


@pytest.fixture(scope="module", params=COMPILERS)
def portable(request, tmp_path_factory):
    return built(tmp_path_factory.mktemp(request.param), request.param)


def test_every_level_is_built_and_sealed(portable):
    assert set(verdicts(portable).values()) == {"built"}
    assert "not when linked: only code for x86-64 and arm64 is decoded" in portable.last


@pytest.mark.parametrize(("cpu", "level"), SELECTED.items())
def test_the_right_level_runs(portable, cpu, level):
    assert ran(portable, cpu).startswith(f"14 200 30 {level}, in use: {level}, built: POWER10, 3 stubs: ")
    assert "14 200 30 DEFAULT, " in ran(portable, cpu, PORTABLE_ISA="default")


@pytest.mark.parametrize("compiler", COMPILERS)
def test_levels_share_no_code(tmp_path, compiler):
    project = built(tmp_path, compiler, package="leak")
    assert {ran(project, cpu, "leak") for cpu in SELECTED} == {"128 128 41 2 3 128 3\n"}


@pytest.mark.parametrize("compiler", COMPILERS)
def test_a_cpu_without_the_baseline_gets_a_message(tmp_path, compiler):
    """What runs before the check of the CPU uses nothing of the baseline's features."""
    arg = "-mcpu=power10"
    project = built(tmp_path, compiler, "-Doptimization=3", f"-Dc_args={arg}", f"-Dcpp_args={arg}")
    for cpu in ("power8", "power9"):
        assert "is compiled for features that CPU or OS lack: " in ran(project, cpu)
    assert "14 200 30 " in ran(project, "power10")
