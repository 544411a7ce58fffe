"""Whole modules in wheels, audited and repaired, and editable; test_pip_kinds has the other ways of pip."""

import json
import sys
import zipfile

import pytest

from support.environments import equip, make_venv, pip, set_for_pip


@pytest.fixture(scope="module")
def venv(tmp_path_factory, wheelhouse):
    """A virtual environment with what a build without isolation needs."""
    return equip(make_venv(tmp_path_factory.mktemp("venv") / "venv"), wheelhouse, "cython")


def ask(project, venv, code, **environment):
    """Run code in a virtual environment, from another folder."""
    return project.run(str(venv), "-c", f"import os; os.chdir('/')\n{code}", **environment).stdout.strip()


def test_cython_modules_in_a_wheel_and_editable_without_isolation(new_project, wheelhouse, venv):
    project = new_project("cython_module")
    set_for_pip(project, wheelhouse, "-Disa_levels=AVX2", "-Doptimization=0")
    environment = {"PATH": f"{venv.parent}:{project.environment['PATH']}"}
    pip(project, venv, "wheel", "--no-build-isolation", "--no-deps", "-w", "wheels", ".", **environment)
    (wheel,) = (project.folder / "wheels").iterdir()
    project.isagen("audit", str(wheel))  # exit status 0: nothing is found
    report = json.loads(project.isagen("audit", str(wheel), "--format", "json").stdout)
    private = [one for one in report["targets"] if "private module of level" in one.get("judged", "")]
    assert len(private) == 4
    found = json.loads(project.isagen("matrix", str(wheel), "--format", "json").stdout)
    assert sorted(one["project"] for one in found) == ["tabled.counts", "tabled.windows"]

    code = "from array import array; from tabled import _counts as c; print(c.level(), c.count(array('i', [2, 2])))"
    project.run(sys.executable, "-m", "auditwheel", "repair", "--strip", "-w", "repaired", str(wheel))
    (repaired,) = (project.folder / "repaired").iterdir()
    names = [sorted(n for n in zipfile.ZipFile(one).namelist() if n.endswith(".so")) for one in (wheel, repaired)]
    assert names[0] == names[1]
    project.isagen("audit", str(repaired))
    pip(project, venv, "install", "--no-deps", str(repaired))
    for level in ("DEFAULT", "AVX2"):
        assert ask(project, venv, code, TABLED_ISA=level) == f"{level} [(2, 2)]"

    set_for_pip(project, wheelhouse, "-Disa_levels=none", "-Doptimization=0")
    pip(project, venv, "install", "--no-build-isolation", "--no-deps", "-e", ".", **environment)
    assert ask(project, venv, code, **environment) == "DEFAULT [(2, 2)]"
    project.edit("tabled/_counts.pyx", "+= 1", "+= 5")
    assert ask(project, venv, code, **environment) == "DEFAULT [(2, 10)]"
