"""Extensions with kernels in Fortran, in assembly and generated, as pip builds them: from an sdist, and editable."""

import sys

import pytest

from support.environments import equip, make_venv, pip
from support.extensions import BITS
from support.projects import Project, need

# By package: what its installed module gives at a level; a change of a kernel, and a value before and after it.
PACKAGES = {
    "fortran": ("m.counted()[0]", ("kernels/dot.F90", "bits = 128", "bits = 129")),
    "assembly": ("m.bits()", ("kernels/count.cpp", "return 128", "return 129")),
    "generated": ("m.numbers(0)[0]", ("kernels/bias.cpp.in", "return 128", "return 129")),
}
# A level beside the lowest is enough here, as other tests compare all.
FEW = "--config-settings=setup-args=-Disa_levels=AVX2"
CODE = (
    "import os; os.chdir('/'); import {0}_kernels as m\n"
    "for level, (built, supported, _) in m.isa.levels.items():\n"
    "  if built and supported:\n"
    "    with m.isa.use(level): print(level, {1})"
)


@pytest.fixture(scope="module")
def bare(tmp_path_factory):
    """An environment with nothing: isagen can only come from an isolated build."""
    return make_venv(tmp_path_factory.mktemp("bare") / "venv")


@pytest.fixture(scope="module")
def equipped(tmp_path_factory, wheelhouse):
    """An environment with all that builds without isolation need."""
    return equip(make_venv(tmp_path_factory.mktemp("equipped") / "venv"), wheelhouse, "jinja2", "cython")


@pytest.fixture(params=PACKAGES)
def package(request, new_project, wheelhouse):
    """A package, and its name; pip finds isagen in the wheelhouse."""
    if request.param == "fortran":
        need("gfortran")
    project = new_project(request.param)
    project.environment |= {"PIP_FIND_LINKS": str(wheelhouse), "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    return project, request.param


def results(project: Project, python, name: str) -> dict[str, int]:
    """What the installed module gives at each level that this CPU supports."""
    said = project.run(str(python), "-c", CODE.format(name, PACKAGES[name][0])).stdout
    return {level: int(bits) for level, bits in map(str.split, said.splitlines())}


def test_isolated_from_its_sdist(package, bare):
    project, name = package
    commit = ("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "first")
    for command in (("init", "-q"), ("add", "-A"), commit):
        project.run("git", *command)
    project.run(sys.executable, "-m", "build", "-q", "--sdist", "--no-isolation")
    pip(project, bare, "install", str(next((project.folder / "dist").glob("*.tar.gz"))), FEW)
    found = results(project, bare, name)
    assert "DEFAULT" in found
    assert found == {level: BITS[level] for level in found}


def test_editable_without_isolation_rebuilds_after_an_edit(package, equipped):
    project, name = package
    path = f"{equipped.parent}:{project.environment['PATH']}"
    pip(project, equipped, "install", "--no-build-isolation", "-e", ".", FEW, PATH=path)
    before = results(project, equipped, name)
    assert before == {level: BITS[level] for level in before}
    project.edit(*PACKAGES[name][1])
    assert results(project, equipped, name) == before | {"DEFAULT": 129}
