"""Whole modules through pip: isolated and not, from an sdist, in a repaired wheel, editable."""

import json
import subprocess
import sys
import zipfile

import pytest

from support.environments import make_venv, pip


@pytest.fixture(scope="module")
def venv(tmp_path_factory, wheelhouse):
    """A virtual environment with what a build without isolation needs."""
    python = make_venv(tmp_path_factory.mktemp("venv") / "venv")
    words = ["-m", "pip", "--python", python, "install", "-q", "--find-links", wheelhouse]
    packages = ["isagen", "meson-python", "ninja", "cython", "pybind11"]
    subprocess.run([sys.executable, *map(str, words), *packages], check=True)
    return python


def for_pip(project, wheelhouse, levels):
    """Let pip find isagen, and give Meson options in pyproject.toml: pip before 23.1 passes on one alone."""
    project.environment |= {"PIP_FIND_LINKS": str(wheelhouse), "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    path = project.folder / "pyproject.toml"
    text = path.read_text().partition("\n[tool.meson-python.args]")[0]
    path.write_text(f'{text}\n[tool.meson-python.args]\nsetup = ["-Disa_levels={levels}", "-Doptimization=0"]\n')


def ask(project, venv, code, **environment):
    """Run code in a virtual environment, from another folder."""
    return project.run(str(venv), "-c", f"import os; os.chdir('/')\n{code}", **environment).stdout.strip()


HISTOGRAM = """
import histograms
values = histograms.Values([float(i % 7) for i in range(100)])
counts = histograms.histogram(values, 7, 0, 7)
print(histograms.level(), histograms.isa.current, values.sum(), counts, histograms.calls())
try:
    histograms.histogram(values, 0, 0, 1)
except ValueError as problem:
    print(problem)
"""


def test_a_pybind11_module_from_its_sdist_isolated(new_project, wheelhouse, tmp_path):
    project = new_project("pybind_module")
    for_pip(project, wheelhouse, "AVX2")
    author = {
        "GIT_AUTHOR_NAME": "a",
        "GIT_AUTHOR_EMAIL": "a@b",
        "GIT_COMMITTER_NAME": "a",
        "GIT_COMMITTER_EMAIL": "a@b",
    }
    for command in (["git", "init", "-q"], ["git", "add", "-A"], ["git", "commit", "-qm", "first"]):
        project.run(*command, **author)
    project.run(sys.executable, "-m", "build", "-q", "--sdist", "--no-isolation")
    venv = make_venv(tmp_path / "venv")
    pip(project, venv, "install", str(next((project.folder / "dist").glob("*.tar.gz"))))
    counts = [15, 15, 14, 14, 14, 14, 14]
    for level in ("DEFAULT", "AVX2"):
        first, error = ask(project, venv, HISTOGRAM, HISTOGRAMS_ISA=level).splitlines()
        assert first == f"{level} {level} 295.0 {counts} {{'histogram': 1}}"
        assert error == "0 bins"


def test_cython_modules_in_a_wheel_and_editable_without_isolation(new_project, wheelhouse, venv):
    project = new_project("cython_module")
    for_pip(project, wheelhouse, "AVX2")
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

    for_pip(project, wheelhouse, "none")
    pip(project, venv, "install", "--no-build-isolation", "--no-deps", "-e", ".", **environment)
    assert ask(project, venv, code, **environment) == "DEFAULT [(2, 2)]"
    project.edit("tabled/_counts.pyx", "+= 1", "+= 5")
    assert ask(project, venv, code, **environment) == "DEFAULT [(2, 10)]"
