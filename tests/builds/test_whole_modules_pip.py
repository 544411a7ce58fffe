"""Whole modules in wheels, audited and repaired; test_pip_kinds.py has them editable, and the other ways of pip."""

import json
import sys
import zipfile
from pathlib import Path

from support.environments import make_venv, pip, set_for_pip


def test_cython_modules_in_a_wheel_without_isolation(new_project, wheelhouse, tmp_path):
    project = new_project("cython_module")
    set_for_pip(project, wheelhouse, "-Disa_levels=AVX2", "-Doptimization=0")
    pip(project, Path(sys.executable), "wheel", "--no-build-isolation", "--no-deps", "-w", "wheels", ".")
    (wheel,) = (project.folder / "wheels").iterdir()
    project.isagen("audit", str(wheel))  # exit status 0: nothing is found
    report = json.loads(project.isagen("audit", str(wheel), "--format", "json").stdout)
    private = [one for one in report["targets"] if "private module of level" in one.get("judged", "")]
    assert len(private) == 4
    found = json.loads(project.isagen("matrix", str(wheel), "--format", "json").stdout)
    assert sorted(one["project"] for one in found) == ["tabled.counts", "tabled.windows"]

    project.run(sys.executable, "-m", "auditwheel", "repair", "--strip", "-w", "repaired", str(wheel))
    (repaired,) = (project.folder / "repaired").iterdir()
    names = [sorted(n for n in zipfile.ZipFile(one).namelist() if n.endswith(".so")) for one in (wheel, repaired)]
    assert names[0] == names[1]
    project.isagen("audit", str(repaired))
    venv = make_venv(tmp_path / "venv")
    pip(project, venv, "install", "--no-deps", str(repaired))
    code = "from array import array; from tabled import _counts as c; print(c.level(), c.count(array('i', [2, 2])))"
    for level in ("DEFAULT", "AVX2"):
        assert project.run(str(venv), "-P", "-c", code, TABLED_ISA=level).stdout == f"{level} [(2, 2)]\n"
