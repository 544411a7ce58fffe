"""The x86-64 table: an executable whose kernel is built for every level of the psABI, and runs on CPUs of each."""

import json
import re

import pytest

from support.pairs import paired
from support.projects import make_project, need

LEVELS = ["X86_64", "X86_64_V2", "X86_64_V3", "X86_64_V4"]
# The exact sum of the elements is 4629.931. The post that this program follows prints 5024.497 for the same elements:
# its kernel starts with the first eight of them, and then adds them again.
SUM = 4629.931


@pytest.fixture(scope="module")
def psabi(tmp_path_factory):
    """The project, built once: tests only run its program."""
    project = make_project(tmp_path_factory.mktemp("psabi"), "psabi")
    project.setup()
    project.ninja()
    return project


def run(project, *emulator, **environment):
    """Return what the program says: (build CPU, run CPU, elements, sum)."""
    done = project.run(*emulator, project.path("psabi"), **environment)
    build, run, elements, total = done.stdout.splitlines()[-4:]
    return (
        re.fullmatch(r"Build CPU:    (\w+)", build)[1],
        re.fullmatch(r"Run CPU:      (\w+)", run)[1],
        re.fullmatch(r"Elements\[101\] =((?: [\d.]+){101})", elements)[1].split(),
        float(re.fullmatch(r"The sum is ([\d.]+)", total)[1]),
    )


def test_it_sums_the_same_at_every_level(psabi):
    psabi.isagen("audit", psabi.build)  # exit status 0: nothing is found
    build, best, elements, total = run(psabi)
    assert build == "x86_64"
    assert best.upper() in LEVELS
    assert elements[:3] == ["52.292168", "66.588684", "30.61861"]
    assert elements[-1] == "58.978127"
    assert total == pytest.approx(SUM, abs=0.01)
    for level in LEVELS[: LEVELS.index(best.upper()) + 1]:
        assert run(psabi, PSABI_ISA=level.lower()) == ("x86_64", best, elements, pytest.approx(SUM, abs=0.01))


@pytest.mark.parametrize(("cpu", "level"), [("Nehalem", "x86_64_v2"), ("Haswell-v4", "x86_64_v3")])
def test_other_cpus(psabi, cpu, level):
    need("qemu-x86_64")
    build, best, elements, total = run(psabi, "qemu-x86_64", "-cpu", cpu)
    assert (build, best) == ("x86_64", level)
    assert elements == run(psabi)[2]
    assert total == pytest.approx(SUM, abs=0.01)


def test_a_level_that_the_cpu_lacks_is_not_run(psabi):
    need("qemu-x86_64")
    done = psabi.run("qemu-x86_64", "-cpu", "Nehalem", psabi.path("psabi"), PSABI_ISA="x86_64_v3")
    warning = next(line for line in done.stdout.splitlines() if line.startswith("warning: "))
    assert "PSABI_ISA=X86_64_V3 needs features that CPU or OS lack (" in warning
    assert warning.endswith("; X86_64_V2 is used")
    assert "The sum is 4629.9" in done.stdout


@pytest.mark.parametrize(
    ("compiler", "table"), paired(["g++", "g++-11", "clang++-14", "clang++-16"], ["x86-64", "aten"])
)
def test_compilers_that_have_all_levels(new_project, compiler, table):
    need(compiler)
    project = new_project("psabi")
    project.edit("isagen/isa.toml", "x86-64", table)
    project.setup(CXX=compiler)
    project.ninja()
    matrix = json.loads(project.isagen("matrix", project.build, "--format", "json").stdout)
    assert {level["verdict"] for level in matrix["levels"]} == {"built"}
    assert len(matrix["levels"]) == (4 if table == "x86-64" else 3)
    assert "The sum is 4629.9" in project.run(project.path("psabi")).stdout
